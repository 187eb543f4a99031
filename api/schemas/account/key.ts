import { z } from '@hono/zod-openapi';
import { clock } from '../../../src/platform/clock.ts';
import { environments } from '../../../src/platform/tenant.ts';
import type { OwnKey } from '../../../src/tenancy/administration/own-keys.ts';
import { keyIds } from '../../../src/tenancy/core/ids.ts';
import { listSchema } from '../pagination.ts';
import { text } from '../text.ts';

const statuses = ['active', 'expiring', 'expired', 'revoked'] as const;
type KeyStatus = (typeof statuses)[number];

/** As the event `api_key.expiring` says it. */
const expiringMs = 7 * 86_400_000;

const record = {
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  last4: z.string(),
  environment: z.enum(environments),
  scopes: z.array(z.string()),
  status: z.enum(statuses).openapi({ description: '`expiring`: it expires within seven days.' }),
  createdAt: z.iso.datetime(),
  createdBy: z.string().nullable().openapi({
    description: 'The person (`usr_…`) or key (`key_…`) that made it; null for keys that operators made.',
  }),
  lastUsedAt: z.iso.datetime().nullable().openapi({ description: 'May lag by a minute.' }),
  expiresAt: z.iso.datetime().nullable(),
};

export const keySchema = z.object(record).openapi('ApiKey');

export const issuedKeySchema = z
  .object({
    ...record,
    key: z.string().openapi({ description: 'The key itself. It is shown only once.' }),
  })
  .openapi('IssuedApiKey');

export const keyListSchema = listSchema('keys', keySchema).openapi('ApiKeyList');

const name = text(100)
  .refine((value) => value.trim() !== '', 'Expected 1 to 100 characters.')
  .openapi({ type: 'string', minLength: 1, maxLength: 100 });

export const newKeySchema = z
  .object({
    name,
    environment: z
      .enum(environments)
      .openapi({ description: 'The environment of the key: that of the key that makes it.' }),
    expiresAt: z.iso
      .datetime({ offset: true })
      .optional()
      .openapi({ description: 'A time in the future, and at most the end of the key that makes it.' }),
    scopes: z
      .array(z.string().max(64))
      .min(1)
      .max(50)
      .optional()
      .openapi({ description: 'Default: all scopes of the caller.' }),
    variant: z.enum(['A', 'B']).optional().openapi({ description: 'The dialect of answers. Default: A.' }),
  })
  .openapi('NewApiKey');

export const keyNameSchema = z.object({ name }).openapi('ApiKeyName');

const maxOverlapSeconds = 604_800;
export const rotationSchema = z
  .object({
    overlapSeconds: z
      .int()
      .min(0)
      .max(maxOverlapSeconds)
      .openapi({ description: 'How long the old key stays valid. With 0 it ends at once.' }),
  })
  .openapi('ApiKeyRotation');

function statusOf({ revokedAt, expiresAt }: OwnKey, now: number): KeyStatus {
  if (revokedAt) return 'revoked';
  if (!expiresAt) return 'active';
  const left = expiresAt.getTime() - now;
  if (left <= 0) return 'expired';
  return left <= expiringMs ? 'expiring' : 'active';
}

export const shownKey = (key: OwnKey, now = clock.now()): z.input<typeof keySchema> => ({
  id: keyIds.format(key.id),
  name: key.name,
  prefix: key.prefix,
  last4: key.lastFour,
  environment: key.environment,
  scopes: key.scopes,
  status: statusOf(key, now),
  createdAt: key.createdAt.toISOString(),
  createdBy: key.createdBy,
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  expiresAt: key.expiresAt?.toISOString() ?? null,
});

const exampleKeyId = '0199dddd-1111-7222-8333-444455556666';
const example = {
  id: keyIds.format(exampleKeyId),
  name: 'Backend',
  prefix: 'sk_test_',
  last4: 'x7Qp',
  environment: 'test' as const,
  scopes: ['runs:execute', 'runs:read'],
  status: 'active' as const,
  createdAt: '2026-12-01T09:00:00.000Z',
  createdBy: 'usr_0199aaaabbbb7ccc8dddeeeeffff0000',
  lastUsedAt: '2026-12-02T10:00:00.000Z',
  expiresAt: null,
};
export const exampleKeyIds = example.id;
export const keyExamples = { A: example, B: example };
const issued = { ...example, lastUsedAt: null, key: 'sk_test_4f8XhQv0K2mZ1nB7cR5tY9uW3eL6pA0sD8gJ2kTx7Qp' };
export const issuedKeyExamples = { A: issued, B: issued };
const list = { keys: [example], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } };
export const keyListExamples = { A: list, B: list };
const asked = { name: 'Backend', environment: 'test' as const, scopes: ['runs:execute', 'runs:read'] };
export const newKeyExamples = { A: asked, B: asked };
export const keyNameExamples = { A: { name: 'Backend' }, B: { name: 'Backend' } };
export const rotationExamples = { A: { overlapSeconds: 86_400 }, B: { overlapSeconds: 86_400 } };
