import { z } from '@hono/zod-openapi';

const integer = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN);

/** Cursors and sizes of the lists that only grow at their end. */
export const cursorQuery = {
  limit: z
    .string()
    .transform(integer)
    .refine((value) => value >= 1 && value <= 100, 'Expected an integer from 1 to 100.')
    .optional()
    .openapi({
      param: { name: 'limit', in: 'query' },
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'Default 50.',
    }),
  after: z
    .string()
    .max(1_000)
    .optional()
    .openapi({ param: { name: 'after', in: 'query' }, description: 'The `nextCursor` of the page before.' }),
};
export const defaultPageSize = 50;

const nextCursor = z
  .string()
  .nullable()
  .openapi({ description: 'The cursor of the next page; null on the last page.' });

export const auditLogSchema = z
  .object({
    entries: z.array(
      z.object({
        at: z.iso.datetime(),
        actor: z.object({
          type: z.enum(['key', 'user', 'operator', 'system']),
          id: z.string().nullable(),
          name: z.string().nullable(),
        }),
        action: z.string().openapi({ description: '`<resource>.<verb>`' }),
        target: z.object({ type: z.string(), id: z.string() }),
        requestId: z.string().nullable().openapi({
          description:
            'The `X-Request-ID` of the request that caused the entry; null for commands and background work.',
        }),
        ip: z.string().nullable().openapi({ description: "The client's address of that request." }),
        changes: z.array(z.object({ path: z.string(), from: z.unknown(), to: z.unknown() })),
      }),
    ),
    nextCursor,
  })
  .openapi('AuditLog');

const entry = {
  at: '2026-12-01T09:00:00.000Z',
  actor: { type: 'user' as const, id: 'usr_0199aaaabbbb7ccc8dddeeeeffff0000', name: 'ada@example.com' },
  action: 'member.update',
  target: { type: 'member', id: 'mem_0199dddd222272228333444455556666' },
  requestId: '0d9f4a53-6c0e-4c5b-9a54-3f1f7f1d7c11',
  ip: '203.0.113.7',
  changes: [{ path: 'role', from: 'member', to: 'admin' }],
};
const log = { entries: [entry], nextCursor: null };
export const auditLogExamples = { A: log, B: log };

export const creditEntriesSchema = z
  .object({
    entries: z.array(
      z.object({
        at: z.iso.datetime(),
        step: z.string().openapi({ description: 'granted, lapsed, held, settled, voided or expired' }),
        operation: z.string().nullable().openapi({ description: 'What the credits pay for; null for grants.' }),
        key: z.string().openapi({ description: 'Identifies the work: all its entries have the same key.' }),
        available: z.int().openapi({ description: 'The change of the credits for new work.' }),
        reserved: z.int().openapi({ description: 'The change of the credits of work in progress.' }),
        spent: z.int(),
        reason: z.string().nullable(),
      }),
    ),
    nextCursor,
  })
  .openapi('CreditEntries');
const held = {
  at: '2026-12-01T09:00:00.000Z',
  step: 'held',
  operation: 'image',
  key: 'gen:0199dddd-4444-7222-8333-444455556666',
  available: -5,
  reserved: 5,
  spent: 0,
  reason: null,
};
const entries = { entries: [held], nextCursor: null };
export const creditEntriesExamples = { A: entries, B: entries };

export const limitsSchema = z
  .object({
    plan: z.string(),
    limits: z.array(
      z.object({
        name: z.string(),
        allowed: z.number(),
        used: z.number().nullable().openapi({ description: 'Null where it is not counted.' }),
        resetsAt: z.iso.datetime().optional().openapi({ description: 'When the count begins again.' }),
      }),
    ),
  })
  .openapi('PlanLimits');
const limits = {
  plan: 'pro',
  limits: [
    { name: 'workflows', allowed: 500, used: 12 },
    { name: 'requestsPerDay', allowed: 10_000, used: 412, resetsAt: '2026-12-02T00:00:00.000Z' },
  ],
};
export const limitsExamples = { A: limits, B: limits };
