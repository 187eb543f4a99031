import { z } from '@hono/zod-openapi';
import { maxSecretLength, maxSecrets, secretNamePattern } from '../../../src/automation/core/secret-names.ts';
import type { SecretView } from '../../../src/automation/secrets/secrets.ts';
import type { Page } from '../../../src/platform/database/page.ts';
import { inDialect } from '../in-dialect.ts';
import { flatPage, paginationOf, paginationSchema } from '../pagination.ts';
import { text } from '../text.ts';

const nameInPath = (name: z.ZodString) =>
  z.object({
    secretName: name.openapi({
      param: { name: 'secretName', in: 'path', example: 'CRM_TOKEN' },
      description: 'The name by which steps use the secret.',
    }),
  });

export const secretInPath = nameInPath(z.string());
export const newSecretInPath = nameInPath(
  z.string().regex(secretNamePattern, 'Expected a capital letter and up to 63 capital letters, digits or underscores.'),
);

export const secretValueSchema = z
  .object({
    value: text(maxSecretLength)
      .refine((value) => value !== '', 'Expected at least one character.')
      .openapi({
        type: 'string',
        minLength: 1,
        maxLength: maxSecretLength,
        description: 'The value is never shown again.',
      }),
  })
  .openapi('SecretValue');

export const secretSchema = z
  .object({
    name: z.string(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    lastUsedAt: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'When a step used it last, within a minute; null if none has.' }),
  })
  .openapi('Secret');

export const secretListSchema = z.union([
  inDialect('SecretListA', 'pagination', { secrets: z.array(secretSchema), pagination: paginationSchema }),
  inDialect('SecretListB', 'total', { secrets: z.array(secretSchema), ...flatPage }),
]);

export const shownSecret = ({ name, createdAt, updatedAt, lastUsedAt }: SecretView): z.input<typeof secretSchema> => ({
  name,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
});

export const shownSecrets = (page: Page<SecretView>, isFlat: boolean): z.input<typeof secretListSchema> => {
  const secrets = page.items.map(shownSecret);
  const { total, limit, offset } = page;
  return isFlat ? { secrets, total, limit, offset } : { secrets, pagination: paginationOf(page) };
};

const shown = {
  name: 'CRM_TOKEN',
  createdAt: '2026-11-21T09:30:00.000Z',
  updatedAt: '2026-11-21T09:30:00.000Z',
  lastUsedAt: null,
};
const alike = <Value>(value: Value) => ({ A: value, B: value });
export const secretExamples = alike(shown);
export const secretValueExamples = alike({ value: 'Bearer 4f2c9d' });
export const secretListExamples = {
  A: { secrets: [shown], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { secrets: [shown], total: 1, limit: 20, offset: 0 },
};

export const secretsDescription = `An environment has at most ${maxSecrets} secrets.`;
