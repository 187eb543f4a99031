import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Database } from '../../src/platform/database/database.ts';
import { Notifications } from '../../src/platform/database/notifications.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import type { EnvironmentKey } from '../../src/platform/security/tenant-key.ts';
import { announceKeyChange } from '../../src/tenancy/key-changes.ts';
import { ToolLocks } from '../../src/tools/tool-locks.ts';
import { asOwner } from '../as-owner.ts';
import { type LoopbackServer, tcpServer } from '../loopback-server.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';

let own: TestDatabase;
/** Lets clients connect and says nothing. */
let silent: LoopbackServer;
beforeAll(async () => {
  [own, silent] = await Promise.all([createTestDatabase(), tcpServer(() => {})]);
});
afterAll(async () => {
  await Promise.all([own.drop(), silent.close()]);
});

const log = openLog('silent', 'test');
const silentUrl = () => `postgres://atelier_app:x@127.0.0.1:${silent.port}/none`;

/** The sessions with this name. */
async function sessions(name: string): Promise<number[]> {
  const { rows } = await asOwner(
    own,
    `select pid from pg_stat_activity where datname = current_database() and application_name = '${name}'`,
  );
  return rows.map(({ pid }) => pid);
}
const listening = () => sessions('atelier notifications');

/** Ends what has this name, as a restart of PostgreSQL does. */
const cut = (name: string) =>
  asOwner(
    own,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = '${name}'`,
  );

async function whileFrozen<Result>(pid: number, work: () => Promise<Result>): Promise<Result> {
  process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

test('a connection that gives no answer is replaced, and stopping does not wait for one', async () => {
  const notifications = new Notifications(own.url, log, 1_000);
  let received = 0;
  await notifications.on('news', () => received++);
  // On a busy machine a server that answers may take longer too.
  await until('it listens', () =>
    notifications.start().then(
      () => true,
      () => false,
    ),
  );
  const [frozen] = await until('it listens on one connection', async () => {
    const pids = await listening();
    return pids.length === 1 && pids;
  });
  await whileFrozen(frozen!, () =>
    until('another connection hears it', async () => {
      await asOwner(own, `select pg_notify('news', '')`);
      return received > 0;
    }),
  );
  const [next] = await until('the first one has ended', async () => {
    const pids = await listening();
    return pids.length === 1 && pids;
  });
  await whileFrozen(next!, () => notifications.stop());
});

test('a server that says nothing is given up', async () => {
  await expect(new Notifications(silentUrl(), log, 200).start()).rejects.toThrow('timeout');
});

test('a connection that could not be prepared is ended, and one other takes its place', async () => {
  const notifications = new Notifications(own.url, log);
  let connections = 0;
  notifications.onConnection(
    async (client) => {
      connections++;
      if (connections === 2) await client.query('select pg_terminate_backend(pg_backend_pid())');
      if (connections === 3) throw new Error('not now');
    },
    () => {},
  );
  await notifications.start();
  await cut('atelier notifications');
  // On a busy machine, one that gives no answer in time may be replaced too.
  await until('the fourth one is the only one', async () => connections >= 4 && (await listening()).length === 1);
  await notifications.stop();
});

test('a connection that is made while it is stopped is ended', async () => {
  const { hostname, port } = new URL(own.url);
  const admitted = Promise.withResolvers<void>();
  const proxy: LoopbackServer = await tcpServer(async (socket) => {
    if (proxy.connections > 1) await admitted.promise;
    const onward = connect(Number(port), hostname);
    onward.on('error', () => {});
    onward.on('close', () => socket.destroy());
    socket.on('close', () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  });
  const url = Object.assign(new URL(own.url), { port: String(proxy.port) });
  const notifications = new Notifications(url.href, log);
  await notifications.start();
  await cut('atelier notifications');
  await until('it connects again', async () => proxy.connections >= 2);
  await notifications.stop();
  admitted.resolve();
  await until('nothing is left', async () => proxy.open === 0);
  await proxy.close();
});

test('an announcement ends with its connection, and so does one whose server says nothing', async () => {
  const database = (url: string) => ({ settings: { url } }) as Database;
  const unanswered = expect(announceKeyChange(database(silentUrl()))).rejects.toThrow('timeout');
  // A process that would confirm it, but never does.
  const holder = new pg.Client({ connectionString: own.url });
  await holder.connect();
  await holder.query('select pg_advisory_lock_shared($1, $2)', [0x4b657973, 1]);
  // It waits for some seconds. On a busy machine it may be over before it is cut off: then another one is made.
  await until('one is cut off', async () => {
    let isOver = false;
    const isCutOff = announceKeyChange(database(own.url))
      .then(
        () => false,
        () => true,
      )
      .finally(() => {
        isOver = true;
      });
    await until('it waits, or is over', async () => isOver || (await sessions('atelier key change')).length > 0);
    await cut('atelier key change');
    return isCutOff;
  });
  await unanswered;
  await holder.end();
});

test('the locks of tool servers are closed although PostgreSQL hangs', async () => {
  const locks = new ToolLocks(own.url);
  await locks.take({ environmentKey: 'one test' as EnvironmentKey }, 'filesystem', new AbortController().signal);
  const [hanging] = await sessions('atelier tools');
  await whileFrozen(hanging!, () => locks.close());
});
