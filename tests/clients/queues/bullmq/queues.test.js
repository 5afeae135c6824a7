// BullMQ's queues and workers against the server at SERVER_ADDR, one line for each case, status 1 when one fails.
//
//   queues.test.js [PART ...]      only the cases with these parts in their names
"use strict";

const assert = require("node:assert/strict");
const { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } = require("bullmq");
const Redis = require("ioredis");

const [host, port] = (process.env.SERVER_ADDR || "127.0.0.1:6379").split(":");
const connection = { host, port: Number(port) };
const PATIENCE = 30000; // milliseconds after which a case that waits for something gives up

// A queue, what it tells, and workers, all of which are closed behind the case.
class Bench {
  open = [];
  queue = this.#opened(new Queue("q", { connection }));
  events = this.#opened(new QueueEvents("q", { connection }));

  #opened(thing) {
    thing.on("error", () => {}); // connections that are cut off at the end
    this.open.push(thing);
    return thing;
  }

  worker(work, options = {}, name = "q") {
    return this.#opened(new Worker(name, work, { connection, drainDelay: 1, ...options }));
  }

  flows() {
    return this.#opened(new FlowProducer({ connection }));
  }

  finished(job) {
    return job.waitUntilFinished(this.events, PATIENCE);
  }

  // The data of so many jobs, in the order in which a worker gets them.
  received(count, options) {
    const seen = [];
    return new Promise((resolve) => {
      this.worker(async (job) => {
        seen.push(job.data.n);
        if (seen.length === count) resolve(seen);
      }, options);
    });
  }

  async close() {
    await Promise.all(this.open.reverse().map((thing) => thing.close()));
  }
}

const cases = {
  "a job is done, and its result told": async (bench) => {
    bench.worker(async (job) => {
      await job.updateProgress(50);
      await job.log("half");
      return { twice: job.data.n * 2 };
    });
    const job = await bench.queue.add("double", { n: 21 });
    assert.deepEqual(await bench.finished(job), { twice: 42 });
    const done = await bench.queue.getJob(job.id);
    assert.deepEqual([await done.getState(), done.progress, (await bench.queue.getJobLogs(job.id)).logs], ["completed", 50, ["half"]]);
  },

  "100 jobs that are added at once are each done once": async (bench) => {
    const jobs = Array.from({ length: 100 }, (_, n) => ({ name: "n", data: { n } }));
    const received = Promise.all([bench.received(100, { concurrency: 10 })]);
    await bench.queue.addBulk(jobs);
    const [seen] = await received;
    assert.deepEqual(seen.sort((a, b) => a - b), jobs.map((job) => job.data.n));
  },

  "two workers share the jobs, and none is done twice": async (bench) => {
    const seen = [];
    const work = async (job) => void seen.push(job.data.n);
    await bench.queue.addBulk(Array.from({ length: 60 }, (_, n) => ({ name: "n", data: { n } })));
    bench.worker(work, { concurrency: 3 });
    bench.worker(work, { concurrency: 3 });
    await bench.finished(await bench.queue.add("last", { n: 60 }));
    await until(async () => seen.length >= 61, "some jobs were not done");
    assert.equal(new Set(seen).size, 61);
    await until(async () => (await bench.queue.getCompletedCount()) === 61, "some jobs are not completed");
  },

  "a delayed job waits for its time": async (bench) => {
    const job = await bench.queue.add("later", { n: 1 }, { delay: 200 });
    assert.equal(await job.getState(), "delayed");
    let begun;
    bench.worker(async () => void (begun = Date.now()));
    await bench.finished(job);
    assert.ok(begun - job.timestamp >= 200, `it waited ${begun - job.timestamp} ms`);
  },

  "a delayed job is promoted": async (bench) => {
    const job = await bench.queue.add("later", { n: 1 }, { delay: 3600000 });
    bench.worker(async () => "done");
    await job.promote();
    assert.equal(await bench.finished(job), "done");
  },

  "a job that fails is tried again, after twice the time each": async (bench) => {
    const begun = [];
    bench.worker(async () => {
      begun.push(Date.now());
      if (begun.length < 3) throw new Error("not yet");
      return "at last";
    });
    const job = await bench.queue.add("hard", {}, { attempts: 4, backoff: { type: "exponential", delay: 60 } });
    assert.equal(await bench.finished(job), "at last");
    assert.ok(begun[1] - begun[0] >= 60 && begun[2] - begun[1] >= 120, begun);
    assert.equal((await bench.queue.getJob(job.id)).attemptsMade, 3);
  },

  "a job that fails for good is kept, and retried when asked": async (bench) => {
    let broken = true;
    bench.worker(async () => {
      if (broken) throw new UnrecoverableError("broken");
      return "mended";
    });
    const job = await bench.queue.add("hard", {}, { attempts: 5 });
    await assert.rejects(bench.finished(job), /broken/);
    const [failed] = await bench.queue.getFailed();
    assert.deepEqual([failed.id, failed.failedReason, failed.attemptsMade], [job.id, "broken", 1]);
    broken = false;
    await failed.retry();
    assert.equal(await bench.finished(job), "mended");
  },

  "a parent waits for its children, and has their results": async (bench) => {
    bench.worker(async (job) => {
      if (job.name === "child") return job.data.n;
      return Object.values(await job.getChildrenValues()).reduce((sum, n) => sum + n, 0);
    });
    const children = [1, 2, 3].map((n) => ({ name: "child", queueName: "q", data: { n } }));
    const tree = await bench.flows().add({ name: "parent", queueName: "q", children });
    assert.equal(await bench.finished(tree.job), 6);
    assert.deepEqual((await tree.job.getDependenciesCount()).processed, 3);
  },

  "a child that fails makes its parent fail where it is asked to": async (bench) => {
    bench.worker(async (job) => {
      if (job.name === "child") throw new Error("broken child");
    });
    const children = [{ name: "child", queueName: "q", data: {}, opts: { failParentOnFailure: true } }];
    const tree = await bench.flows().add({ name: "parent", queueName: "q", children });
    await assert.rejects(bench.finished(tree.job), /child .* failed/);
  },

  "jobs of higher priority come first": async (bench) => {
    for (const [n, priority] of [[1, 9], [2, 3], [3, undefined], [4, 3], [5, 1]]) await bench.queue.add("n", { n }, { priority });
    const raised = await bench.queue.add("n", { n: 6 }, { priority: 20 });
    await raised.changePriority({ priority: 2 });
    assert.deepEqual(await bench.received(6), [3, 5, 6, 2, 4, 1]);
  },

  "the last job comes first where it is added so": async (bench) => {
    for (const n of [1, 2, 3]) await bench.queue.add("n", { n }, { lifo: true });
    assert.deepEqual(await bench.received(3), [3, 2, 1]);
  },

  "no more jobs are done in a time than the limit of the rate": async (bench) => {
    await bench.queue.addBulk(Array.from({ length: 5 }, (_, n) => ({ name: "n", data: { n } })));
    const times = [];
    await new Promise((resolve) => {
      bench.worker(async () => times.push(Date.now()) === 5 && resolve(), { limiter: { max: 2, duration: 200 } });
    });
    assert.ok(times[4] - times[0] >= 350, `five jobs took ${times[4] - times[0]} ms`);
  },

  "no more jobs run at a time than the queue allows": async (bench) => {
    await bench.queue.setGlobalConcurrency(2);
    await bench.queue.addBulk(Array.from({ length: 12 }, (_, n) => ({ name: "n", data: { n } })));
    let running = 0, most = 0, done = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      done++;
    };
    bench.worker(work, { concurrency: 5 });
    bench.worker(work, { concurrency: 5 });
    await until(async () => done === 12, "some jobs were not done");
    assert.equal(most, 2);
  },

  "a scheduler adds jobs again and again": async (bench) => {
    const received = bench.received(3);
    const first = await bench.queue.upsertJobScheduler("tick", { every: 100 }, { name: "n", data: { n: 7 } });
    assert.equal(first.name, "n");
    assert.deepEqual(await received, [7, 7, 7]);
    const [scheduler] = await bench.queue.getJobSchedulers();
    assert.deepEqual([scheduler.key, Number(scheduler.every)], ["tick", 100]);
    assert.ok(await bench.queue.removeJobScheduler("tick"));
    assert.deepEqual(await bench.queue.getJobSchedulers(), []);
  },

  "a scheduler by a pattern has its next job ready": async (bench) => {
    await bench.queue.upsertJobScheduler("daily", { pattern: "0 0 3 * * *", tz: "UTC" }, { name: "n" });
    const [job] = await bench.queue.getDelayed();
    assert.equal(new Date(job.timestamp + job.delay).toISOString().slice(11, 19), "03:00:00");
  },

  "nothing is done in a queue that is paused": async (bench) => {
    let done = 0;
    bench.worker(async () => void done++);
    await bench.finished(await bench.queue.add("n", {}));
    await bench.queue.pause();
    const job = await bench.queue.add("n", {});
    assert.deepEqual([await bench.queue.isPaused(), done], [true, 1]);
    await bench.queue.resume();
    await bench.finished(job);
    assert.deepEqual([await bench.queue.isPaused(), done], [false, 2]);
  },

  "a job that is there already is not added again": async (bench) => {
    await bench.queue.add("n", { n: 1 }, { jobId: "one" });
    await bench.queue.add("n", { n: 2 }, { jobId: "one" });
    const first = await bench.queue.add("n", { n: 3 }, { deduplication: { id: "d", ttl: 60000 } });
    const second = await bench.queue.add("n", { n: 4 }, { deduplication: { id: "d", ttl: 60000 } });
    assert.equal(first.id, second.id);
    assert.deepEqual(await bench.received(2), [1, 3]);
  },

  "a job whose worker is gone is given to another": async (bench) => {
    const lost = new Redis({ ...connection, maxRetriesPerRequest: null });
    const stuck = bench.worker(() => new Promise(() => {}), { lockDuration: 200, lockRenewTime: 100000, skipStalledCheck: true, connection: lost });
    const job = await bench.queue.add("n", { n: 1 });
    await until(() => job.isActive(), "the job was not begun");
    await stuck.close(true);
    lost.disconnect();
    bench.worker(async () => "done", { stalledInterval: 50 });
    assert.equal(await bench.finished(job), "done");
  },

  "finished jobs are counted, cleaned and obliterated": async (bench) => {
    bench.worker(async () => "done");
    for (let n = 0; n < 5; n++) await bench.finished(await bench.queue.add("n", { n }));
    await bench.queue.pause();
    await bench.queue.addBulk([1, 2, 3].map((n) => ({ name: "n", data: { n } })));
    const counts = await bench.queue.getJobCounts("completed", "waiting", "paused", "failed");
    assert.deepEqual([counts.completed, counts.waiting + counts.paused, counts.failed], [5, 3, 0]);
    assert.equal((await bench.queue.clean(0, 2, "completed")).length, 2);
    await bench.queue.drain();
    assert.equal(await bench.queue.count(), 0);
    await bench.queue.obliterate({ force: true });
    assert.equal(await bench.queue.getCompletedCount(), 0);
  },
};

async function until(condition, what) {
  const deadline = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

// Whether a case passes on an empty server.
async function passes(title, test) {
  const db = new Redis(connection);
  await db.flushall();
  db.disconnect();
  const bench = new Bench();
  let late;
  try {
    await bench.events.waitUntilReady();
    const patience = new Promise((_, reject) => (late = setTimeout(reject, 2 * PATIENCE, new Error("it did not end"))));
    await Promise.race([test(bench), patience]);
    console.log("ok   " + title);
    return true;
  } catch (error) {
    console.log(`FAIL ${title}: ${error.stack}`);
    return false;
  } finally {
    clearTimeout(late);
    await bench.close();
  }
}

async function main(chosen) {
  let passed = true;
  for (const [name, test] of Object.entries(cases)) {
    const title = `bullmq: ${name}`;
    if (chosen.length && !chosen.some((part) => title.includes(part))) continue;
    passed = (await passes(title, test)) && passed;
  }
  process.exit(passed ? 0 : 1);
}

main(process.argv.slice(2)).catch((error) => {
  console.log("FAIL: " + error.stack);
  process.exit(1);
});
