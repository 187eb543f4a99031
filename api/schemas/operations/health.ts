import { z } from '@hono/zod-openapi';
import { type Dependency, dependencies } from '../../../src/operations/core/health.ts';
import { vitalNamePattern, vitalPathPattern } from '../../../src/operations/core/vitals.ts';

export const versionSchema = z
  .object({
    version: z.string().openapi({ description: 'The version of the application.', example: '0.1.0' }),
    commit: z.string().openapi({ description: 'The deployed commit; `unknown` if it is not configured.' }),
  })
  .openapi('Version');

export const versionExample = { version: '0.1.0', commit: '3f9c2d1e5b7a8c6d4e2f1a0b9c8d7e6f5a4b3c2d' };

const outcome = z.enum(['ok', 'failed']);
const checks = z
  .object(
    Object.fromEntries(
      dependencies.map((name) => [name, name === 'storage' ? outcome.optional() : outcome]),
    ) as unknown as Record<Exclude<Dependency, 'storage'>, typeof outcome> & {
      storage: z.ZodOptional<typeof outcome>;
    },
  )
  .openapi('HealthChecks', {
    description:
      'The dependencies of the service; `storage` where files are in a bucket. Names of missing settings are not shown.',
  });

export const allOk = { database: 'ok', cache: 'ok', environment: 'ok', temporal: 'ok' } as const;
export const databaseAway = { ...allOk, database: 'failed' } as const;

export const healthSchema = z
  .object({
    status: z
      .enum(['healthy', 'degraded', 'unhealthy'])
      .openapi({ description: '`unhealthy` is only sent with status 503.' }),
    checks,
  })
  .openapi('Health');

export const readySchema = z.object({ ready: z.boolean(), checks }).openapi('Readiness');

export const strictQuery = z.object({
  strict: z
    .enum(['0', '1', 'true', 'false'])
    .optional()
    .openapi({
      param: { name: 'strict', in: 'query' },
      // Not an enumeration: generators of clients have no names for 0 and 1.
      type: 'string',
      pattern: '^(0|1|true|false)$',
      description: 'With 1 the answer is 503 unless the database and the required configuration are available.',
    }),
});

const finding = z
  .object({ ok: z.boolean(), latencyMs: z.number(), problem: z.string().optional() })
  .openapi('DependencyCheck');

export const adminHealthSchema = z
  .object({
    status: z.enum(['healthy', 'degraded', 'unhealthy']),
    ready: z.boolean(),
    draining: z.boolean(),
    checks: z.object(Object.fromEntries(dependencies.map((name) => [name, finding])) as Record<string, typeof finding>),
    outbox: z.object({ depth: z.int(), oldestSeconds: z.number() }).nullable(),
    versions: z.object({
      version: z.string(),
      commit: z.string(),
      node: z.string(),
      postgres: z.string().nullable(),
      migration: z.string().nullable(),
      temporal: z.string().nullable(),
    }),
    uptimeSeconds: z.number(),
  })
  .openapi('AdminHealth');

const well = { ok: true, latencyMs: 1.2 };

export const adminHealthExample: z.input<typeof adminHealthSchema> = {
  status: 'healthy',
  ready: true,
  draining: false,
  checks: { database: well, cache: well, environment: well, temporal: well, storage: well },
  outbox: { depth: 0, oldestSeconds: 0 },
  versions: {
    ...versionExample,
    node: 'v24.21.0',
    postgres: '18.4',
    migration: 'Migration20261101000000_example',
    temporal: '1.29.0',
  },
  uptimeSeconds: 86_400,
};

export const drainedSchema = z
  .object({ drained: z.int().openapi({ description: 'The number of outbox entries that were processed.' }) })
  .openapi('OutboxDrain');

export const beaconSchema = z
  .object({
    name: z.string().regex(vitalNamePattern).openapi({ example: 'LCP' }),
    value: z.number().min(0).max(1e9).openapi({ example: 1834.5 }),
    id: z.string().max(200).optional(),
    path: z.string().max(2_000).regex(vitalPathPattern).optional().openapi({ example: '/workflows' }),
  })
  .openapi('WebVital');

export const beaconListSchema = z.array(beaconSchema).min(1).max(200);
// One form in the document: generators of clients make no type of a union of object and array.
export const beaconsSchema = z.union([beaconSchema, beaconListSchema]).openapi('WebVitals', {
  type: 'array',
  items: { $ref: '#/components/schemas/WebVital' },
  minItems: 1,
  maxItems: 200,
  anyOf: undefined as never,
  description: 'One measurement alone, without the list around it, is accepted too.',
});

const exampleVital = { name: 'LCP', value: 1834.5, id: 'v4-1763717400000', path: '/workflows' };
export const beaconExamples = { several: [exampleVital, { name: 'CLS', value: 0.04 }] };

export const vitalsExample = {
  vitals: [
    { name: 'CLS', path: null, count: 2, p50: 0, p75: 0.04, p95: 0.04 },
    { name: 'LCP', path: '/workflows/:id', count: 412, p50: 1_204, p75: 1_834.5, p95: 2_911 },
  ],
};

export const vitalsSchema = z
  .object({
    vitals: z.array(
      z.object({
        name: z.string(),
        path: z.string().nullable().openapi({ description: 'The path of the page, with `:id` in place of ids.' }),
        count: z
          .int()
          .openapi({ description: 'All measurements ever received. The percentiles cover the latest 500.' }),
        p50: z.number(),
        p75: z.number(),
        p95: z.number(),
      }),
    ),
  })
  .openapi('WebVitalStatistics');
