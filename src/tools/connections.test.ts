import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Scope } from '../platform/database/scope.ts';
import { ToolConnections, type ToolTarget } from './connections.ts';
import type { ToolServerId } from './core/server-ids.ts';
import { type ToolLimits, toolLimits } from './limits.ts';
import type { ListedTool } from './tool.ts';

const log = pino({ level: 'silent' });
const signal = new AbortController().signal;

/** A live server of an organization. */
function targetOf(organizationId: string, server: ToolServerId, version = '1'): ToolTarget {
  const scope = new Scope(undefined as never, { organizationId, environment: 'live' }, 'test');
  const { tenant, tenantKey, environmentKey } = scope;
  return { tenant, tenantKey, environmentKey, server, configuration: { version } as ToolTarget['configuration'] };
}

/** Connections whose servers list a tool with a description of so many characters, with the servers asked for lists. */
function connectionsWith(limits: Partial<ToolLimits>, length = 0) {
  const listed: string[] = [];
  const connections = new ToolConnections({
    log,
    limits: { ...toolLimits, ...limits },
    async open({ tenant, server }) {
      return {
        isOpen: true,
        async list(): Promise<ListedTool[]> {
          listed.push(`${tenant.organizationId} ${server}`);
          return [{ tool: 'a', description: 'x'.repeat(length), inputSchema: {}, idempotent: true }];
        },
        call: async () => ({ text: '', isError: false }),
        close: async () => {},
      };
    },
  });
  return { connections, listed };
}

describe('lists of tools of remote servers', () => {
  const length = 10_000;
  /** The memory of one is a little more than its text. */
  const some = (lists: number) => lists * 2 * length + length;

  test('are kept by version, and those used least recently make way where they take more than their memory', async () => {
    const listedBytes = { perOrganization: some(2), perProcess: some(3) };
    const { connections, listed } = connectionsWith({ listedBytes }, length);
    const list = (organization: string, server: ToolServerId, version?: string) =>
      connections.list(targetOf(organization, server, version), signal);
    const again = async (organization: string, server: ToolServerId) => {
      const before = listed.length;
      await list(organization, server);
      return listed.length > before;
    };
    await list('a', 'github');
    await list('a', 'slack');
    expect([await again('a', 'github'), await again('a', 'slack')]).toEqual([false, false]);
    await again('a', 'github');
    // A third one of the organization takes the memory of the one that was used least recently.
    await list('a', 'notion');
    expect(await again('a', 'github')).toBe(false);
    expect(connections.listedBytes).toBeLessThanOrEqual(some(2));
    await list('b', 'github');
    await list('b', 'slack');
    expect(connections.listedBytes).toBeLessThanOrEqual(some(3));
    expect([await again('b', 'github'), await again('b', 'slack')]).toEqual([false, false]);
    expect([await again('a', 'github'), await again('a', 'notion')]).toEqual([false, true]);
    await list('b', 'slack', '2');
    expect(listed.at(-1)).toBe('b slack');
    await connections.close();
  });

  test('that take more than the share of an organization are used and not kept', async () => {
    const { connections, listed } = connectionsWith({ listedBytes: { perOrganization: 100, perProcess: 1_000 } });
    for (const _ of [1, 2]) {
      expect(await connections.list(targetOf('a', 'github'), signal)).toHaveLength(1);
    }
    expect([listed.length, connections.listedBytes]).toEqual([2, 0]);
    await connections.close();
  });
});

describe('processes of local servers', () => {
  const limits = { perOrganization: { local: 1, remote: 1 }, perProcess: { local: 1, remote: 1 } };

  test('go to the organization that used them less, whichever asked first', async () => {
    const { connections } = connectionsWith(limits);
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const use = (organization: string, server: ToolServerId, until?: Promise<void>) =>
      connections.use(targetOf(organization, server), signal, async () => {
        order.push(`${organization} ${server}`);
        await until;
      });
    const first = use('a', 'filesystem', held.promise);
    const more = [
      use('a', 'sqlite'),
      use('a', 'memory'),
      use('a', 'filesystem'),
      use('b', 'sqlite'),
      use('c', 'memory'),
    ];
    await more[2];
    held.resolve();
    await Promise.all([first, ...more]);
    // A connection that is open has its users at once.
    expect(order.slice(0, 2)).toEqual(['a filesystem', 'a filesystem']);
    expect(order.slice(2)).toEqual(['b sqlite', 'c memory', 'a sqlite', 'a memory']);
    await connections.close();
  });

  test('are waited for until the caller gives up, or the process ends', async () => {
    const { connections } = connectionsWith(limits);
    const held = Promise.withResolvers<void>();
    const first = connections.use(targetOf('a', 'filesystem'), signal, () => held.promise);
    const giveUp = new AbortController();
    const left = connections.use(targetOf('b', 'sqlite'), giveUp.signal, async () => {});
    const last = connections.use(targetOf('c', 'sqlite'), signal, async () => {});
    giveUp.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    const closed = connections.close();
    await expect(last).rejects.toThrow('The process is ending.');
    held.resolve();
    await Promise.all([first, closed]);
    expect(connections.size).toBe(0);
  });
});

test('a connection that nobody waits for any more is closed once, when it is open', async () => {
  const opening = Promise.withResolvers<void>();
  const closed: string[] = [];
  const connections = new ToolConnections({
    log,
    limits: toolLimits,
    async open({ configuration }) {
      const { version } = configuration!;
      if (version === '1') await opening.promise;
      return {
        isOpen: true,
        list: async () => [],
        call: async () => ({ text: '', isError: false }),
        async close() {
          closed.push(version);
          throw new Error('It does not close in order.');
        },
      };
    },
  });
  const giveUp = new AbortController();
  const left = connections.use(targetOf('a', 'github'), giveUp.signal, async () => {});
  giveUp.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  // Its configuration is no longer the latest one.
  await connections.use(targetOf('a', 'github', '2'), signal, async () => {});
  opening.resolve();
  await connections.close();
  await nextLoopRound();
  expect(closed.toSorted()).toEqual(['1', '2']);
  expect(connections.size).toBe(0);
});
