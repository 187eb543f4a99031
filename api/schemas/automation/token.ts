import { z } from '@hono/zod-openapi';
import { batchIds, runIds, workflowIds } from '../../../src/automation/core/ids.ts';
import { tagPattern } from '../../../src/automation/core/starts.ts';
import type { ResourceId } from '../../../src/platform/core/ids.ts';
import { maxTokenNames, tokenScopes, tokenSeconds } from '../../../src/tenancy/core/token-access.ts';
import type { NewToken } from '../../../src/tenancy/tokens/create-token.ts';

/** Reads an id in either form into a UUID. */
const id = (ids: ResourceId, expectation: string) =>
  z
    .string()
    .max(100)
    .transform((text, context) => {
      const uuid = ids.parse(text);
      if (uuid !== undefined) return uuid;
      context.addIssue({ code: 'custom', message: expectation });
      return z.NEVER;
    })
    .openapi({ type: 'string', maxLength: 100 });

/** An origin as browsers send it: a scheme, a host and perhaps a port. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text);
}

const origin = z
  .string()
  .max(300)
  .refine(isOrigin, 'Expected an origin such as https://app.example.com, without a path.')
  .openapi({ type: 'string', maxLength: 300, example: 'https://app.example.com' });

export const newTokenSchema = z
  .strictObject({
    scopes: z
      .array(z.enum(tokenScopes))
      .min(1)
      .max(tokenScopes.length)
      .openapi({ description: 'What the token may do. The key must have each of these scopes.' }),
    runIds: z
      .array(id(runIds, 'Expected the id of a run.'))
      .min(1)
      .max(maxTokenNames.runs)
      .optional()
      .openapi({ description: 'Runs that the token sees.' }),
    workflowIds: z
      .array(id(workflowIds, 'Expected the id of a workflow.'))
      .min(1)
      .max(maxTokenNames.workflows)
      .optional()
      .openapi({ description: 'Workflows that the token starts, and whose runs it sees.' }),
    batchId: id(batchIds, 'Expected the id of a batch.')
      .optional()
      .openapi({ description: 'A batch whose runs the token sees.' }),
    tags: z
      .array(z.string().regex(tagPattern, 'Expected up to 64 letters, digits and . _ : / -'))
      .min(1)
      .max(maxTokenNames.tags)
      .optional()
      .openapi({ description: 'Tags that the runs have, all of them. Runs that the token starts must be given them.' }),
    expiresInSeconds: z.int().min(tokenSeconds.min).max(tokenSeconds.max).default(tokenSeconds.byDefault).openapi({
      description: 'How long the token lives; at most as long as the key.',
    }),
    maxUses: z
      .int()
      .min(1)
      .max(maxTokenNames.uses)
      .optional()
      .openapi({ description: 'The number of requests that are accepted. Default: no limit.' }),
    origins: z
      .array(origin)
      .min(1)
      .max(maxTokenNames.origins)
      .optional()
      .openapi({ description: 'Origins from which browsers may use the token. Default: any origin.' }),
  })
  .openapi('NewToken');

export const newTokenExamples = {
  A: {
    scopes: ['runs:read' as const, 'runs:execute' as const],
    workflowIds: ['0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'],
    expiresInSeconds: 900,
    maxUses: 100,
    origins: ['https://app.example.com'],
  },
  B: {
    scopes: ['runs:read' as const],
    runIds: ['run_0199bbbbcccc7ddd8eeeffff00001111'],
  },
};

export const issuedTokenSchema = z
  .object({
    token: z.string().openapi({ description: 'Shown only here.' }),
    expiresAt: z.iso.datetime(),
  })
  .openapi('Token');

const issued = {
  token: 'pub_test_3xampl3T0k3nThat0p3nsN0thingAtAllXXXXXXXXX',
  expiresAt: '2026-12-01T10:15:00.000Z',
};
export const issuedTokenExamples = { A: issued, B: issued };

const unique = <Item>(items: readonly Item[] | undefined): Item[] | null => (items ? [...new Set(items)] : null);

/** The request of a body. */
export const readNewToken = (body: z.output<typeof newTokenSchema>): NewToken => ({
  scopes: unique(body.scopes)!,
  runs: {
    runIds: unique(body.runIds),
    workflowIds: unique(body.workflowIds),
    batchId: body.batchId ?? null,
    tags: unique(body.tags),
  },
  expiresInSeconds: body.expiresInSeconds,
  maxUses: body.maxUses ?? null,
  origins: unique(body.origins),
});
