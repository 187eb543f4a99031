import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import type { GenerationImage } from './core/image.ts';
import type { GenerationError, GenerationStatus } from './core/status.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** One generation: the request and its result. */
export const Generation = defineEntity({
  name: 'Generation',
  tableName: 'generation',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    /** 1, 2, 3 … within its tenant, in the order of their creation. Removed generations leave gaps. */
    number: p.integer(),
    kind: p.string().length(20).$type<MediaKind>(),
    status: p.string().length(10).$type<GenerationStatus>(),
    /** With its defaults filled in. */
    request: p.json<GenerationRequest>(),
    seed: p.bigint('number'),
    /** Where the image is that it works on. Forgotten when it ends: an address may hold a credential. */
    imageUrl: p.text().nullable(),
    /** That image, once it was fetched. */
    image: p.json<GenerationImage>().nullable(),
    file: p.string().length(48).nullable(),
    /** Pixels of the file. */
    width: p.integer().nullable(),
    height: p.integer().nullable(),
    /** The length of the file. */
    seconds: p.double().nullable(),
    /** For a background removal: whether any pixel of the file is not opaque. */
    hasTransparency: p.boolean().nullable(),
    /** The charged credits. */
    credits: p.integer().nullable(),
    error: p.json<GenerationError>().nullable(),
    /** The claim of its Idempotency-Key, which the refusal of its image releases. */
    claim: p.json<Pick<IdempotencyClaim, 'method' | 'path' | 'key'>>().nullable(),
    /** How long it was expected to take when it was created, in milliseconds. */
    expectedMs: p.integer().nullable(),
    /** In percent, as its provider reported; null when it reports none. */
    progress: p.smallint().nullable(),
    /** When it began to be handed to a provider that must not get it twice. */
    submittedAt: p.datetime().nullable(),
    /** The provider's id of it. */
    upstreamId: p.string().length(200).nullable(),
    /** When the provider of the job was last polled. */
    askedAt: p.datetime().nullable(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['organizationId', 'environment', 'number'] }],
  indexes: [
    { name: 'generation_correlation_index', properties: ['correlationId'] },
    {
      name: 'generation_search_correlation_index',
      properties: ['organizationId', 'environment', 'correlationId', 'id'],
    },
    {
      name: 'generation_history_index',
      properties: ['organizationId', 'environment', 'number'],
      where: `status = 'completed' and kind in ('image', 'video', 'music')`,
    },
    {
      name: 'generation_kind_index',
      properties: ['organizationId', 'environment', 'kind', 'number'],
      where: `status = 'completed'`,
    },
    {
      name: 'generation_block_end_index',
      properties: ['organizationId', 'environment', 'number'],
      where: 'number % 1000 = 0',
    },
    {
      name: 'generation_finished_index',
      properties: ['organizationId', 'finishedAt'],
      where: 'finished_at is not null',
    },
    {
      name: 'generation_open_index',
      properties: ['createdAt'],
      where: `status = 'processing'`,
    },
  ],
});
export type Generation = InferEntity<typeof Generation>;

/** The number of a tenant's latest generation. */
export const GenerationTotal = defineEntity({
  name: 'GenerationTotal',
  tableName: 'generation_total',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    total: p.integer(),
  },
});

/** How many of 1000 consecutive generations the history shows. Written once, when all of them have ended. */
export const GenerationBlock = defineEntity({
  name: 'GenerationBlock',
  tableName: 'generation_block',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    /** 0 for the generations 1 to 1000. */
    block: p.integer().primary(),
    images: p.integer(),
    videos: p.integer(),
    music: p.integer(),
  },
});
