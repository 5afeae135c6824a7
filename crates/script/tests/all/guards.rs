//! What the sources of Lua in this repository guard against, one test for each row of
//! `vendor/lua-src/README.md`.

use crate::host::Server;

#[test]
fn a_readonly_table_takes_no_write_of_any_kind() {
    let mut server = Server::new();
    for write in [
        "string.x = 1",
        "rawset(string, 'x', 1)",
        "table.insert(string, 1)",
        "setmetatable(string, {})",
        "getmetatable('').__index = nil",
        "rawset(getmetatable(''), '__index', nil)",
        "setmetatable({}, {__newindex = string}).x = 1",
        "_G.x = 1",
        "x = 1",
        "redis.call = nil",
    ] {
        let reply = server.eval(write);
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.contains("Attempt to modify a readonly table"), "{write}: {reply}");
    }
    assert_eq!(server.eval("return {rawget(string, 'x'), rawget(_G, 'x')}"), b"*0\r\n");
}

#[test]
fn a_readonly_table_can_be_read_in_every_way() {
    let mut server = Server::new();
    let script = "local n = 0 for k in pairs(math) do n = n + 1 end \
                  local k = next(math) return {n, type(math[k]), rawget(math, 'pi') == math.pi}";
    assert_eq!(server.eval(script), b"*3\r\n:31\r\n$8\r\nfunction\r\n:1\r\n");
}

#[test]
fn bytecode_is_no_chunk() {
    let mut server = Server::new();
    let script = "local dumped = string.dump(function() return 1 end) \
                  local function read() local d = dumped dumped = nil return d end \
                  return {loadstring(dumped) == nil, load(read) == nil}";
    assert_eq!(server.eval(script), b"*2\r\n:1\r\n:1\r\n");
    assert!(server.eval(b"\x1bLua").starts_with(b"-ERR Error compiling script"));
}

#[test]
fn the_name_of_a_chunk_outlives_collections_while_it_is_parsed() {
    let mut server = Server::new();
    let script = "local parts = {'local x = 1 ', 'error(', [[\"e\"]], ')'} \
                  local place = 0 \
                  local function read() place = place + 1 collectgarbage() return parts[place] end \
                  local f = load(read, \
                                 '=' .. 'name' .. #parts) \
                  local _, text = pcall(f) return text";
    assert_eq!(server.text(script), "name4:1: e");
}

#[test]
fn a_long_bracket_has_a_bound_of_levels() {
    let mut server = Server::new();
    let level = |count: usize| "=".repeat(count);
    let short = format!("return #[{0}[text]{0}]", level(1000));
    assert_eq!(server.eval(short), b":4\r\n");
    let long = server.eval(format!("return [{}[", level(100_001)));
    assert!(String::from_utf8_lossy(&long).contains("long bracket has too many levels"));
}

#[test]
#[ignore = "reads two billion lines"]
fn a_chunk_has_a_bound_of_lines() {
    let mut server = Server::new();
    let script = "local block, count = ('\\n'):rep(1048576), 0 \
                  local function read() \
                      count = count + 1 if count <= 2048 then return block end \
                  end \
                  return (select(2, load(read)))";
    assert!(server.text(script).ends_with("chunk has too many lines"));
}

#[test]
fn unpack_refuses_every_range_that_does_not_fit() {
    let mut server = Server::new();
    for range in ["1, 1e9", "-2147483648, 2147483647", "-2147483648, -1", "0, 2147483647"] {
        let reply = server.eval(format!("return #{{unpack({{}}, {range})}}"));
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.contains("too many results to unpack"), "{range}: {reply}");
    }
    assert_eq!(server.eval("return {unpack({}, 2147483647, -2147483648)}"), b"*0\r\n");
}

#[test]
fn a_protected_call_has_any_number_of_results() {
    let mut server = Server::new();
    for call in ["pcall(unpack, t)", "xpcall(function() return unpack(t) end, tostring)"] {
        for count in [19, 20, 21, 40, 1000, 7900] {
            let source = format!(
                "local t = {{}} for i = 1, {count} do t[i] = i end return select('#', {call})"
            );
            assert_eq!(server.eval(source), format!(":{}\r\n", count + 1).as_bytes(), "{call}");
        }
    }
}

#[test]
fn packing_refuses_more_arguments_than_fit() {
    let mut server = Server::new();
    let pack = |count| {
        format!(
            "local t = {{}} for i = 1, {count} do t[i] = i end return #cmsgpack.pack(unpack(t))"
        )
    };
    assert!(server.eval(pack(3900)).starts_with(b":"));
    let reply = String::from_utf8_lossy(&server.eval(pack(6000))).into_owned();
    let expected = "bad argument #0 to 'pack' (Too many arguments for MessagePack pack.)";
    assert!(reply.contains(expected), "{reply}");
}

#[test]
fn strings_that_differ_in_one_byte_of_many_are_told_apart_fast() {
    let mut server = Server::new();
    // With a hash that skips bytes, all these would share one bucket.
    let script = "local head, tail, t = ('x'):rep(150), ('y'):rep(149), {} \
                  for i = 1, 60000 do t[head .. string.format('%05d', i) .. tail] = i end \
                  local n = 0 for _ in pairs(t) do n = n + 1 end return n";
    server.fake.patience = Some(1000);
    assert_eq!(server.eval(script), b":60000\r\n");
}

#[test]
fn a_pattern_that_nests_too_deep_is_an_error() {
    let mut server = Server::new();
    for call in ["find(s, p)", "match(s, p)", "gsub(s, p, '')", "gmatch(s, p)()"] {
        let reply = server
            .eval(format!("local s, p = ('a'):rep(3000), ('a?'):rep(3000) return string.{call}"));
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.contains("pattern too complex"), "{call}: {reply}");
    }
    assert_eq!(server.eval("return ('a'):rep(900):find(('a?'):rep(900))"), b":1\r\n");
}

#[test]
fn a_pattern_that_takes_long_can_be_ended() {
    let mut server = Server::new();
    server.fake.patience = Some(20);
    let reply = server.eval("return ('a'):rep(5000):find(('.-'):rep(20) .. 'b')");
    assert!(reply.starts_with(b"-ERR Script killed by user"), "{reply:?}");
}

#[test]
fn a_search_that_takes_long_can_be_ended() {
    let mut server = Server::new();
    server.fake.patience = Some(20);
    let script = "return ('a'):rep(3000000):find(('a'):rep(1000000) .. 'b', 1, true)";
    assert!(server.eval(script).starts_with(b"-ERR Script killed by user"));
}

#[test]
fn sorting_that_takes_long_can_be_ended() {
    let mut server = Server::new();
    server.fake.patience = Some(20);
    let script = "local t = {} for i = 1, 40000 do t[i] = (i * 7919) % 40009 end \
                  while true do table.sort(t) t[1], t[2] = t[2], t[1] end";
    assert!(server.eval(script).starts_with(b"-ERR Script killed by user"));
}

#[test]
fn work_in_many_short_coroutines_can_be_ended() {
    for body in [
        // None of them has as many instructions as lie between two looks of the host.
        "local function f(n) if n > 0 then coroutine.wrap(function() f(n - 1) f(n - 1) end)() end \
         end f(16)",
        "local function f(n) if n > 0 then local c = coroutine.create(function() f(n - 1) \
         coroutine.yield() f(n - 1) end) coroutine.resume(c) coroutine.resume(c) end end f(16)",
        "local function f(n) if n > 0 then pcall(coroutine.wrap(function() pcall(f, n - 1) \
         pcall(f, n - 1) end)) end end f(16)",
    ] {
        let mut server = Server::new();
        server.fake.patience = Some(20);
        assert!(server.eval(body).starts_with(b"-ERR Script killed by user"), "{body}");
    }
}

#[test]
fn repeating_nothing_takes_no_time() {
    assert_eq!(Server::new().eval("return (''):rep(2147483647)"), b"$0\r\n\r\n");
}

#[test]
fn a_finalizer_never_runs() {
    let options = script::Options { insecure: true, ..script::Options::default() };
    let mut server = Server::with(&options);
    let script = "local ran = 0 \
                  local function end_it() ran = ran + 1 end \
                  for i = 1, 100 do getmetatable(newproxy(true)).__gc = end_it end \
                  collectgarbage() return ran";
    assert_eq!(server.eval(script), b":0\r\n");
}

#[test]
fn nested_calls_fit_on_the_stack_of_a_thread() {
    let run = || {
        let mut server = Server::new();
        let script = "local depth = 0 \
                      local function inner() depth = depth + 1 return (('x'):gsub('x', inner)) end \
                      local ok, text = pcall(inner) return {depth, tostring(text)}";
        String::from_utf8_lossy(&server.eval(script)).into_owned()
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run);
    let reply = thread.expect("a thread").join().expect("no overflow");
    assert!(reply.contains("stack overflow"), "{reply}");
}

#[test]
fn codecs_of_any_depth_fit_on_the_stack_of_a_thread() {
    let run = || {
        let mut server = Server::new();
        let script = "local deep, text = {}, ('['):rep(3000) .. (']'):rep(3000) \
                      for i = 1, 100000 do deep = {deep} end \
                      cjson.encode_max_depth(2147483647) cjson.decode_max_depth(2147483647) \
                      local results = {} \
                      for i, f in ipairs({ \
                          function() return cjson.encode(deep) end, \
                          function() return cjson.decode(text) end, \
                          function() return cmsgpack.pack(deep) end, \
                          function() return cmsgpack.unpack(('\\145'):rep(100000)) end, \
                      }) do results[i] = tostring(select(2, pcall(f))) end \
                      return {results[1], results[2], #results[3], results[4], deep}";
        String::from_utf8_lossy(&server.eval(script)).into_owned()
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run);
    let reply = thread.expect("a thread").join().expect("no overflow");
    for text in [
        "Cannot serialise, excessive nesting (2001)",
        "Found too many nested data structures (2001)",
        "\r\n:17\r\n",
        "stack overflow (in function mp_decode_to_lua_array)",
        "-ERR reached lua stack limit",
    ] {
        assert!(reply.contains(text), "{text}");
    }
}

#[test]
fn nested_coroutines_fit_on_the_stack_of_a_thread() {
    let run = || {
        let mut server = Server::new();
        let script = "local function inner() return coroutine.wrap(inner)() end \
                      local ok, text = pcall(inner) return tostring(text):sub(-16)";
        server.text(script)
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run);
    assert_eq!(thread.expect("a thread").join().expect("no overflow"), "C stack overflow");
}

#[test]
fn what_is_not_there_reads_as_no_global() {
    let mut server = Server::new();
    for name in [
        "print", "dofile", "loadfile", "require", "module", "package", "io", "debug", "newproxy",
        "getfenv", "setfenv",
    ] {
        let reply = server.eval(format!("return {name}"));
        let expected = format!(
            "-ERR user_script:1: Script attempted to access nonexistent global variable '{name}' \
             script: on @user_script:1.\r\n"
        );
        assert_eq!(String::from_utf8_lossy(&reply), expected);
    }
}

#[test]
fn insecure_functions_are_there_where_they_are_wanted() {
    let options = script::Options { insecure: true, ..script::Options::default() };
    let script = "return {type(newproxy), type(getfenv), type(setfenv)}";
    let reply = Server::with(&options).eval(script);
    assert_eq!(reply, b"*3\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n");
}
