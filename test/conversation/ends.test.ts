import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { messageJob } from '../../src/conversation/job.ts';
import { answerOf, findMessage } from '../../src/conversation/messages.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import { creditsIn, never, nothing, openMessage, type Scene, tool } from './message-scene.ts';

// Without a product: the tests do the work themselves, with models and tools of their own, and sweep whole tables.
let testDatabase: TestDatabase;
let database: Database;
let scope: Scope;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestDatabase(testDatabase.url);
  const { id } = await createOrganization(database, { name: 'Test', plan: 'team' });
  const tenant = { organizationId: organizationIds.parse(id)!, environment: 'test' } as const;
  scope = new Scope(database, tenant, 'conversation-ends');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const open = (scene: Scene, servers?: string[]) => openMessage({ database }, scope, scene, servers);
const credits = () => creditsIn({ database });

describe('when its time is over a message', () => {
  test('that the model had begun to reply to ends with what it wrote, charged', async () => {
    const before = await credits();
    // On a busy machine its time may be over before its model is asked: then there is another message.
    const message = await until('a model begins to reply in time', async () => {
      let isAsked = false;
      const message = await open({
        async reply(_, { onDelta, signal }) {
          isAsked = true;
          onDelta!('So far ');
          onDelta!('so good');
          return never(signal);
        },
        deadlineMs: 3_000,
      });
      const end = await message.ask();
      if (!isAsked) return false;
      expect(end).toEqual({ kind: 'ended' });
      return message;
    });
    const answered = answerOf(await message.find())!;
    expect([answered.reply, answered.credits]).toEqual([
      { content: 'So far so good', toolCalls: [], truncated: true },
      1,
    ]);
    expect(await credits()).toEqual({ ...before, spent: before.spent + 1 });
  });

  test('without a word has failed, uncharged', async () => {
    const before = await credits();
    const message = await open({ reply: (_, { signal }) => never(signal) });
    expect(await message.ask()).toEqual({ kind: 'failed', code: 'timeout' });
    expect((await message.find()).error).toEqual({ code: 'timeout', message: 'The model did not answer in time.' });
    expect(await credits()).toEqual(before);
  });

  test('in a call of a tool ends with what the model wrote beside it', async () => {
    const before = await credits();
    // On a busy machine its time may be over before its model is asked: then there is another message.
    const message = await until('a model calls a tool in time', async () => {
      let isAsked = false;
      const message = await open(
        {
          async reply(_, { signal }) {
            // The clock of the database may be a little behind.
            if (isAsked) return never(signal);
            isAsked = true;
            return { ...nothing, text: 'I am writing it down.', calls: [{ id: 'c', name: tool.name, args: {} }] };
          },
          deadlineMs: 3_000,
        },
        ['memory'],
      );
      const calls = await message.ask();
      if (!isAsked) return false;
      expect(calls).toEqual({ kind: 'calls', calls: [0] });
      return message;
    });
    // What is recorded is not asked again.
    expect(await message.ask()).toEqual({ kind: 'calls', calls: [0] });
    await message.call(1, 0);
    expect(await message.ask(2)).toEqual({ kind: 'ended' });
    const { reply, credits: charged } = answerOf(await message.find())!;
    const result = 'The message timed out before the tool answered.';
    expect(reply).toEqual({
      content: 'I am writing it down.',
      truncated: true,
      toolCalls: [{ name: tool.name, args: {}, result, isError: true }],
    });
    expect(charged).toBe(2);
    expect(await credits()).toEqual({ ...before, spent: before.spent + 2 });
  });
});

test('a call that began before and did not end is not made again, and its end is reported as unknown', async () => {
  let calls = 0;
  const scene: Scene = {
    deadlineMs: 20_000,
    reply: async () => ({ ...nothing, text: '', calls: [{ id: 'c', name: tool.name, args: {} }] }),
    async use() {
      calls++;
      throw new Error('The process dies.');
    },
  };
  const message = await open(scene, ['memory']);
  await message.ask();
  await expect(message.call(1, 0)).rejects.toThrow('The process dies.');
  await message.call(1, 0);
  await message.call(1, 0);
  expect(calls).toBe(1);
  const { rows } = await database.pool.query(
    'select attempts, content is not null as ended from conversation_entry where message_id = $1 and position = 1',
    [message.messageId],
  );
  expect(rows).toEqual([{ attempts: 2, ended: true }]);
});

test('a message that no process works on fails a minute after its time, and is removed after a day', async () => {
  const message = await open({ reply: (_, { signal }) => never(signal) });
  const { services } = message;
  const age = (hours: number) =>
    database.pool.query(
      'update conversation_message set created_at = created_at - make_interval(hours => $2) where id = $1',
      [message.messageId, hours],
    );
  const { held } = await credits();
  expect(await messageJob.stopOverdue(services, 10)).toBe(0);
  await age(1);
  expect(await messageJob.stopOverdue(services, 10)).toBeGreaterThan(0);
  expect([(await message.find()).status, (await credits()).held < held]).toEqual(['failed', true]);
  await messageJob.forgetOld(database, 100);
  expect(await message.find()).toBeDefined();
  await age(24);
  expect(await messageJob.forgetOld(database, 100)).toBe(1);
  expect(await findMessage(message.services.sealer, scope, message.messageId)).toBeUndefined();
});
