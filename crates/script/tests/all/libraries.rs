//! Libraries of functions, as Valkey 9.1.2 loads and runs them.

use script::{FunctionFlags, Input, LibraryFunction, LoadError, LogLevel, Options, Protocol};

use crate::host::Server;

fn server() -> Server {
    Server::with(&Options { for_libraries: true, ..Options::default() })
}

/// Loads a library of one function.
fn load(server: &mut Server, source: &str) -> LibraryFunction {
    let source = format!("\n{source}");
    let functions = server.interpreter.load(source.as_bytes(), &mut server.fake).expect("valid");
    functions.into_iter().next().expect("a function")
}

fn call(server: &mut Server, function: &LibraryFunction) -> String {
    let input = Input { keys: &[b"k"], arguments: &[b"a", b"b"], protocol: Protocol::Resp2 };
    let mut reply = Vec::new();
    server.interpreter.run(&function.function, input, &mut server.fake, &mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

fn load_and_call(source: &str) -> String {
    let mut server = server();
    let function = load(&mut server, source);
    call(&mut server, &function)
}

/// Returns the error of a source that stands in the second line, as in Valkey behind its shebang.
fn error(source: &str) -> String {
    let mut server = server();
    let source = format!("\n{source}");
    match server.interpreter.load(source.as_bytes(), &mut server.fake) {
        Err(LoadError::Register(text) | LoadError::Compile(text)) => {
            String::from_utf8_lossy(&text).into_owned()
        }
        Ok(functions) => panic!("{source} registers {functions:?}"),
    }
}

#[test]
fn a_function_gets_keys_and_arguments() {
    let source = "redis.register_function('f', function(keys, args) return {keys[1], args[2]} end)";
    assert_eq!(load_and_call(source), "*2\r\n$1\r\nk\r\n$1\r\nb\r\n");
}

#[test]
fn named_arguments_carry_flags() {
    let mut server = server();
    let source = "server.register_function{function_name = 'f', callback = function() end, \
                  description = 'd', flags = {'no-writes', 'allow-cross-slot-keys'}}";
    let function = load(&mut server, source);
    let flags =
        FunctionFlags { no_writes: true, allow_cross_slot_keys: true, ..FunctionFlags::default() };
    assert_eq!((&function.name[..], function.flags), (&b"f"[..], flags));
}

#[test]
fn wrong_registrations_are_refused_as_in_valkey() {
    let f = "function() end";
    for (arguments, text) in [
        ("()".to_owned(), "ERR wrong number of arguments to server.register_function"),
        (
            "('f')".to_owned(),
            "ERR calling server.register_function with a single argument is only applicable to \
             Lua table (representing named arguments).",
        ),
        (
            "('f', 1)".to_owned(),
            "ERR second argument to server.register_function must be a function",
        ),
        (format!("({{}}, {f})"), "ERR first argument to server.register_function must be a string"),
        (format!("('f', {f}, 1)"), "ERR wrong number of arguments to server.register_function"),
        (
            "{function_name='f'}".to_owned(),
            "ERR server.register_function must get a callback argument",
        ),
        (
            format!("{{callback={f}}}"),
            "ERR server.register_function must get a function name argument",
        ),
        (
            format!("{{function_name='f', callback={f}, x=1}}"),
            "ERR unknown argument given to server.register_function",
        ),
        (format!("{{function_name='f', callback={f}, flags={{'bad'}}}}"), "ERR unknown flag given"),
        (
            format!("{{function_name='f', callback={f}, flags='no-writes'}}"),
            "ERR flags argument to server.register_function must be a table representing function \
             flags",
        ),
        (
            format!("{{function_name={{}}, callback={f}}}"),
            "ERR function_name argument given to server.register_function must be a string",
        ),
        (
            "{function_name='f', callback=1}".to_owned(),
            "ERR callback argument given to server.register_function must be a function",
        ),
    ] {
        assert_eq!(error(&format!("redis.register_function{arguments}")), text);
    }
}

#[test]
fn a_source_sees_little_while_it_is_loaded() {
    for (source, name) in [
        ("redis.call('get', 'k')", "call"),
        ("return redis.sha1hex", "sha1hex"),
        ("return redis.REPL_ALL", "REPL_ALL"),
        ("error('x')", "error"),
        ("return math", "math"),
        ("return _G", "_G"),
        ("return KEYS", "KEYS"),
    ] {
        let text = format!(
            "ERR user_function:2: Script attempted to access nonexistent global variable '{name}'"
        );
        assert_eq!(error(source), text);
    }
    for source in ["x = 1", "redis.x = 1", "KEYS = {}"] {
        assert_eq!(error(source), "ERR user_function:2: Attempt to modify a readonly table");
    }
}

#[test]
fn a_source_may_log_and_reads_versions_while_it_is_loaded() {
    let mut server = server();
    let source = "redis.log(redis.LOG_NOTICE, redis.VALKEY_VERSION) \
                  redis.register_function('f', function() end)";
    load(&mut server, source);
    assert_eq!(server.fake.lines, [(LogLevel::Notice, b"9.1.2".to_vec())]);
}

#[test]
fn a_function_sees_everything_but_registering() {
    let body = "local n = 0 for k in pairs(redis) do n = n + 1 end \
                return {n, math.floor(1.5), type(redis.register_function), redis == server}";
    let source = format!("redis.register_function('f', function() {body} end)");
    assert_eq!(load_and_call(&source), "*4\r\n:23\r\n:1\r\n$3\r\nnil\r\n:1\r\n");
}

#[test]
fn registering_ends_with_the_loading() {
    let source = "redis.register_function{function_name = 'f', callback = redis.register_function}";
    let text = "-ERR server.register_function can only be called on FUNCTION LOAD command\r\n";
    assert!(load_and_call(source).starts_with(text.trim_end()));
}

#[test]
fn errors_of_functions_name_the_library() {
    for (body, reply) in [
        ("error('x')", "-ERR user_function:2: x script: on @user_function:2.\r\n"),
        (
            "return foo",
            "-ERR user_function:2: Script attempted to access nonexistent global variable 'foo' \
             script: on @user_function:2.\r\n",
        ),
        (
            "return KEYS",
            "-ERR user_function:2: Script attempted to access nonexistent global variable 'KEYS' \
             script: on @user_function:2.\r\n",
        ),
        (
            "x = 1",
            "-ERR user_function:2: Attempt to modify a readonly table script: on \
             @user_function:2.\r\n",
        ),
    ] {
        let source = format!("redis.register_function('f', function() {body} end)");
        assert_eq!(load_and_call(&source), reply);
    }
    assert_eq!(error("return 1 +"), "user_function:2: unexpected symbol near '<eof>'");
}

#[test]
fn functions_keep_what_is_in_their_upvalues() {
    let mut server = server();
    let source = "local n = 0 redis.register_function('f', function() n = n + 1 return n end)";
    let function = load(&mut server, source);
    assert_eq!(call(&mut server, &function), ":1\r\n");
    assert_eq!(call(&mut server, &function), ":2\r\n");
}

#[test]
fn a_source_that_loops_can_be_ended() {
    let mut server = server();
    server.fake.patience = Some(3);
    let result = server.interpreter.load(b"while true do end", &mut server.fake);
    let text = b"ERR Script killed by user with SCRIPT KILL.".to_vec();
    assert_eq!(result.expect_err("it is ended"), LoadError::Register(text));
}

#[test]
fn loading_again_and_again_leaves_nothing() {
    let mut server = server();
    let source = "redis.register_function('f', function() return 1 end)";
    let round = |server: &mut Server| {
        let function = load(server, source);
        server.interpreter.release(function.function);
    };
    (0..10).for_each(|_| round(&mut server));
    server.interpreter.collect();
    let before = server.interpreter.memory_bytes();
    (0..1000).for_each(|_| round(&mut server));
    server.interpreter.collect();
    assert!(server.interpreter.memory_bytes() <= before + 1000);
}
