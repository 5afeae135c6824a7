<?php
// Cases with php-memcached: `cases`, `add N`, which adds 1 to the key `sum` N times by CAS, and `session N`, which adds 1
// to a number of a session N times, behind the session's lock.
declare(strict_types=1);
error_reporting(E_ALL);
[$host, $port] = explode(':', getenv('MEMCACHED_ADDR'));
$client = new Memcached();
$client->addServer($host, (int) $port);

function check(bool $condition, string $what): void
{
    if (!$condition) {
        throw new Exception($what . ' (' . $GLOBALS['client']->getResultMessage() . ')');
    }
}

$cases = [
    'flags' => function (Memcached $c) {
        foreach (['text' => 'é', 'bytes' => "\0\r\n\xff", 'number' => 7, 'list' => [1, ['a' => null]], 'half' => 0.5, 'yes' => true] as $key => $value) {
            check($c->set($key, $value) && $c->get($key) === $value, $key);
        }
        $c->setOption(Memcached::OPT_USER_FLAGS, 0x7654);
        check($c->set('mine', 'v'), 'set with flags');
        $c->setOption(Memcached::OPT_USER_FLAGS, -1);
        check($c->get('mine', null, Memcached::GET_EXTENDED)['flags'] === 0x7654, 'the flags are others');
    },
    'compression' => function (Memcached $c) {
        $text = str_repeat('packed ', 10000);
        foreach ([Memcached::COMPRESSION_FASTLZ, Memcached::COMPRESSION_ZLIB] as $kind) {
            $c->setOption(Memcached::OPT_COMPRESSION_TYPE, $kind);
            check($c->set('packed', $text) && $c->get('packed') === $text, 'the text is another');
        }
    },
    'many keys' => function (Memcached $c) {
        $values = [];
        for ($number = 0; $number < 1000; $number += 2) {
            $values["many:$number"] = $number;
        }
        check($c->setMulti($values), 'set of many');
        $keys = array_map(fn ($number) => "many:$number", range(0, 999));
        check($c->getMulti($keys) == $values, 'get of many');
        check(count(array_unique(array_column($c->getMulti($keys, Memcached::GET_EXTENDED), 'cas'))) === 500, 'their CAS values');
        check($c->getDelayed($keys) && count($c->fetchAll()) === 500, 'a delayed get');
    },
    '5 MB' => function (Memcached $c) {
        $value = random_bytes(5 << 20);
        check($c->set('large', $value) && $c->get('large') === $value, 'the value is another');
    },
    'conditions' => function (Memcached $c) {
        $c->delete('condition');
        check(!$c->cas(1796070000000000, 'condition', 'x') && $c->getResultCode() === Memcached::RES_NOTFOUND, 'a CAS of no item');
        check($c->add('condition', 1) && !$c->add('condition', 2), 'two items were added');
        $cas = $c->get('condition', null, Memcached::GET_EXTENDED)['cas'];
        check($c->increment('condition', 41) === 42, 'increment');
        check(!$c->cas($cas, 'condition', 5) && $c->getResultCode() === Memcached::RES_DATA_EXISTS, 'a CAS of a changed item');
        check($c->touch('condition', 100) && $c->get('condition') === 42, 'touch');
        check($c->decrement('condition', 2) === 40, 'decrement');
        $c->setOption(Memcached::OPT_COMPRESSION, false);
        check($c->set('joined', 'b') && $c->append('joined', 'c') && $c->prepend('joined', 'a') && $c->get('joined') === 'abc', 'append');
    },
    'a key of RESP' => function (Memcached $c) {
        check($c->get('from-resp') === 'written elsewhere', 'another value');
    },
];

if ($argv[1] === 'add') {
    for ($left = (int) $argv[2]; $left > 0;) {
        $found = $client->get('sum', null, Memcached::GET_EXTENDED);
        if ($client->cas($found['cas'], 'sum', (string) ($found['value'] + 1))) {
            $left--;
        }
    }
} elseif ($argv[1] === 'session') {
    foreach (['handler' => 'memcached', 'path' => "$host:$port"] as $name => $value) {
        ini_set("session.save_$name", $value);
    }
    // The extension's default is the binary protocol.
    foreach (['binary_protocol' => '0', 'locking' => '1', 'lock_wait_min' => '1', 'lock_wait_max' => '5', 'lock_retries' => '10000'] as $name => $value) {
        ini_set("memcached.sess_$name", $value);
    }
    ini_set('session.use_cookies', '0');
    ini_set('session.cache_limiter', '');
    for ($left = (int) $argv[2]; $left > 0; $left--) {
        session_id('varve');
        if (!session_start()) {
            exit(1);
        }
        $_SESSION['number'] = ($_SESSION['number'] ?? 0) + 1;
        session_write_close();
    }
    session_id('varve');
    session_start();
    echo $_SESSION['number'], "\n";
} else {
    foreach ($cases as $name => $run) {
        try {
            $run($client);
            echo "ok   $name\n";
        } catch (Throwable $error) {
            echo "FAILED $name: ", $error->getMessage(), "\n";
            $failed = true;
        }
    }
    exit(isset($failed) ? 1 : 0);
}
