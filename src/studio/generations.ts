import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import { generationIds, videoIds } from './core/ids.ts';
import type { GenerationImage } from './core/image.ts';
import type { GenerationError, GenerationStatus } from './core/status.ts';
import { generationNotFound, videoNotFound } from './errors.ts';

export interface GenerationDetail {
  id: string;
  status: GenerationStatus;
  request: GenerationRequest;
  seed: number;
  /** The input image, once it was fetched. */
  image: Pick<GenerationImage, 'width' | 'height'> | null;
  /** The name of the file in the storage, once it is completed. */
  file: string | null;
  /** Pixels of the file. */
  width: number | null;
  height: number | null;
  seconds: number | null;
  hasTransparency: boolean | null;
  /** The charged credits. */
  credits: number | null;
  error: GenerationError | null;
  /** In percent, as its provider reported; null when it reports none. */
  progress: number | null;
  /** How long it was expected to take. */
  expectedMs: number | null;
  ageMs: number;
  /** The time since the provider of the job was last polled; null if no provider has it. */
  askedMsAgo: number | null;
  /** Whether the image that it works on is still to be fetched. */
  awaitsImage: boolean;
  createdAt: Date;
  finishedAt: Date | null;
}

/** Milliseconds since a generation was created, in SQL. */
export const ageMs = `extract(epoch from atelier_now() - created_at)::float8 * 1000 as "ageMs"`;

/** Columns of a `GenerationDetail`. */
export const generationRow = {
  id: 'uuid',
  status: typed<GenerationStatus>('text'),
  request: typed<GenerationRequest>('jsonb'),
  seed: 'float8',
  image: typed<Pick<GenerationImage, 'width' | 'height'> | null>('jsonb?'),
  file: 'text?',
  width: 'int?',
  height: 'int?',
  seconds: 'float8?',
  hasTransparency: 'boolean?',
  credits: 'int?',
  error: typed<GenerationError | null>('jsonb?'),
  progress: 'smallint?',
  expectedMs: 'int?',
  ageMs: 'float8',
  askedMsAgo: 'float8?',
  awaitsImage: 'boolean',
  createdAt: 'timestamptz',
  finishedAt: 'timestamptz?',
} as const;
export const generationColumns = `id, status, request, seed::float8 as seed, image, file, width, height, seconds,
  has_transparency as "hasTransparency", credits, error, progress, expected_ms as "expectedMs", ${ageMs},
  extract(epoch from atelier_now() - asked_at)::float8 * 1000 as "askedMsAgo",
  status = 'processing' and image_url is not null and image is null as "awaitsImage",
  created_at as "createdAt", finished_at as "finishedAt"`;

const find = statement({
  name: 'generation.find',
  parameters: { id: 'uuid' },
  row: generationRow,
  text: `select ${generationColumns} from generation where organization_id = :organizationId
    and environment = :environment and id = :id`,
});

/** A generation by its id in any form: a UUID, `gen_…` or `vid_…`. @throws AppError not_found */
export async function getGeneration(scope: Scope, id: string): Promise<GenerationDetail> {
  const uuid = generationIds.parse(id) ?? videoIds.parse(id);
  const found = uuid && (await scope.one(find, { id: uuid }));
  if (!found) throw generationNotFound(id);
  return found;
}

/** A video by its id in any form: a UUID or `vid_…`. @throws AppError not_found, also for generations of other kinds */
export async function getVideo(scope: Scope, id: string): Promise<GenerationDetail> {
  const uuid = videoIds.parse(id);
  const found = uuid ? await scope.one(find, { id: uuid }) : undefined;
  if (found?.request.kind !== 'video') throw videoNotFound(id);
  return found;
}
