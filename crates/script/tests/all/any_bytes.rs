//! Any bytes as a source, as input of a codec and as a reply: errors, and nothing worse. More
//! rounds: `ROUNDS=1000000 cargo test -p script any_bytes`.

use script::Options;

use crate::host::Server;

/// Bytes by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    /// Returns a text with some of its parts changed, removed, doubled or exchanged.
    fn mutate(&mut self, text: &[u8], alphabet: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(8)).min(bytes.len());
            match self.below(5) {
                0 => bytes.insert(at, alphabet[self.below(alphabet.len())]),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
                3 => bytes.truncate(at),
                _ if at < bytes.len() => bytes[at] = alphabet[self.below(alphabet.len())],
                _ => {}
            }
        }
        bytes
    }
}

/// Runs a script on mutations of samples as `ARGV[1]`.
fn run_on_mutations(script: &str, samples: &[&[u8]], alphabet: &[u8]) {
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut server = Server::with(&Options { memory_limit: 4 << 20, ..Options::default() });
    let mut chance = Chance(7);
    for round in 0..rounds {
        let sample = samples[round % samples.len()];
        let input = chance.mutate(sample, alphabet);
        server.fake.patience = Some(server.fake.polls + 100);
        let (_, reply) = server.eval_with(script, &[], &[&input]);
        assert!(reply.ends_with(b"\r\n"), "{input:?}");
    }
    server.fake.patience = None;
    assert_eq!(server.eval("return 1"), b":1\r\n");
}

const ALL: &[u8] = &{
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = byte as u8;
        byte += 1;
    }
    all
};

#[test]
fn any_bytes_are_json_or_an_error() {
    run_on_mutations(
        "return cjson.encode(cjson.decode(ARGV[1]))",
        &[
            br#"{"a":[1,2.5e3,{"b":null,"c":"\u20ac\ud83d\ude00\n"}],"d":true,"e":[[],{}]}"#,
            br#"[0x1F,-inf,nan,01,"\"\\\/",false,[[[[[[1]]]]]]]"#,
        ],
        b"{}[]\",:\\u0123456789abcdefxeE+-.nIN \n\x00\xff",
    );
}

#[test]
fn any_bytes_are_message_pack_or_an_error() {
    run_on_mutations(
        "return cmsgpack.pack(cmsgpack.unpack(ARGV[1]))",
        &[
            b"\x93\x01\xcb\x3f\xf8\0\0\0\0\0\0\x82\xa1a\xc0\xa1b\xd9\x03xyz",
            b"\xdc\0\x02\x91\x91\x90\xde\0\x01\xcd\x01\x02\xd3\xff\xff\xff\xff\xff\xff\xff\xff",
        ],
        ALL,
    );
}

#[test]
fn any_format_of_struct_is_one_or_an_error() {
    run_on_mutations(
        "pcall(struct.size, ARGV[1]) \
         local ok, packed = pcall(struct.pack, ARGV[1], 1, 2, 3, 'text', 5, 'x', 7.5, -8, 9) \
         if ok then return {pcall(struct.unpack, ARGV[1], packed)} end \
         return {pcall(struct.unpack, ARGV[1], ARGV[1])}",
        &[b">!4bi4i16sBc0", b"<hIi3fdxx!8lT", b"bBhHlLTi32I7c5s !2d"],
        b"bBhHiIlLTfdcsx<>! 0123456789z\x00",
    );
}

#[test]
fn any_bytes_are_a_reply_or_an_error() {
    run_on_mutations(
        "redis.setresp(3) return redis.call('raw', ARGV[1])",
        &[
            b"%2\r\n$1\r\na\r\n*2\r\n:1\r\n,1.5\r\n+b\r\n~1\r\n_\r\n",
            b"*3\r\n=5\r\ntxt:x\r\n|1\r\n+k\r\n#t\r\n(123\r\n-ERR x\r\n",
        ],
        b"%*~|$=+-:,(#_>\r\n0123456789tfx",
    );
}

#[test]
fn any_source_runs_or_is_an_error() {
    run_on_mutations(
        "local f, text = loadstring(ARGV[1]) if not f then return text end \
         local ok, value = pcall(f) return {ok, tostring(value)}",
        &[
            b"local t = {1, 2, x = function(...) return select('#', ...) end} return t.x(1, nil)",
            b"for i, v in ipairs({3, 4}) do if i > 1 then return i .. v elseif v then break end\
              end",
            b"return (('abc'):gsub('(%w)(%w)', '%2%1', 1)) .. [==[long]] text]==] .. 0x1F ^ 2e1",
            b"local function f(a) while a do a = coroutine.yield(a) end end coroutine.wrap(f)(1)",
            b"local a, b = 1, 2 repeat local c = a + b a = c until a > 9 or not b return #'x'",
        ],
        b"(){}[]=\"'\\.,:;+-*/%^#<>~ \nabcxyz0123456789",
    );
}
