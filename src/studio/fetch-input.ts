import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../platform/bounded-work/task.ts';
import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { AppError } from '../platform/errors.ts';
import type { TenantKey } from '../platform/security/tenant-key.ts';
import { openWorkFolder } from '../platform/work-folder.ts';
import { type GenerationRequest, pixelLimits, upscaledSize } from '../providers/core/media/requests.ts';
import { examineImage } from '../providers/index.ts';
import { fetchImage, imageLimits, imageRefused } from '../storage/index.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { MemoryOpenCounter, type OpenCounter } from '../tenancy/index.ts';
import { deadlineOf } from './core/deadlines.ts';
import { formatId } from './core/ids.ts';
import type { GenerationImage } from './core/image.ts';
import type { GenerationError } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import type { EndServices } from './job.ts';

export interface InputServices extends EndServices {
  egress: Pick<Egress, 'request'>;
  renderings: BoundedWork;
  inputPlaces: InputPlaces;
}

/** A generation whose image is still to be fetched. */
interface AwaitedInput extends JobRef {
  request: GenerationRequest;
  imageUrl: string;
  ageMs: number;
}

type InputProgress =
  | { kind: 'wait'; ms: number }
  | { kind: 'refused'; error: GenerationError }
  | { kind: 'fetched'; image: GenerationImage };

/**
 * Maximum images that one process fetches at the same time, because a slow server may take 30 seconds for each. Further
 * generations wait in their workflows, where they hold no resources.
 */
const places = { organization: 4, process: 32 } as const;

export class InputPlaces {
  readonly #counter: OpenCounter = new MemoryOpenCounter();

  /** @returns what gives the place free; undefined when all that the organization may have are taken */
  async enter(organizationId: string): Promise<(() => void) | undefined> {
    const leave = await this.#counter.enter(organizationId, places.organization);
    if (!leave) return undefined;
    const leaveProcess = await this.#counter.enter('process', places.process);
    if (!leaveProcess) leave();
    return leaveProcess && (() => [leave, leaveProcess].forEach((one) => void one()));
  }
}

/** The pause grows with the time waited, so that the generations of a large backlog do not all ask every moment. */
const againMs = (ageMs: number) => Math.round(Math.min(5_000, Math.max(250, ageMs / 2)));

/** How long the decoding may wait for a slot. */
const waitMs = 60_000;
/** An image outlives its generation's deadline by this, in case the end is not recorded. */
const keptLongerMs = 3_600_000;

const recordImage = statement({
  name: 'generation.record_image',
  parameters: { id: 'uuid', image: 'jsonb' },
  row: { id: 'uuid' },
  text: `update generation set image = :image
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
      and image is null
   returning id`,
});

const problems = {
  format: 'Expected a PNG, JPEG or WebP image.',
  undecodable: 'The image is incomplete or damaged.',
} as const;

/** Decodes the image to its end in the pool. @returns its size when it is upright. @throws AppError validation_error */
async function measure(renderings: BoundedWork, tenantKey: TenantKey, path: string) {
  const args = { path, maxPixels: pixelLimits.input, transparency: false };
  const examined = await renderings.run(examineImage, tenantKey, args, { waitMs }).catch((error: unknown) => {
    throw error instanceof WorkTooCostly ? imageRefused(`The image is too costly to decode: ${error.message}`) : error;
  });
  if (!('refused' in examined)) return examined.size;
  const { refused } = examined;
  throw imageRefused(refused === 'pixels' ? `The image has too many pixels.` : problems[refused]);
}

/** Stores the image and records it. @returns undefined when the generation has ended or has one */
async function keep(
  services: InputServices,
  scope: Scope,
  { request, id, waiter }: AwaitedInput,
  { path, ...facts }: Pick<GenerationImage, 'type' | 'width' | 'height'> & { path: string },
  signal: AbortSignal,
): Promise<GenerationImage | undefined> {
  const stored = await services.files.store(scope, {
    kind: 'input',
    type: facts.type,
    maxBytes: imageLimits.bytes,
    signal,
    content: createReadStream(path),
    title: formatId(request.kind, id),
  });
  const image = { file: stored.name, ...facts, sha256: stored.sha256.toString('hex') };
  const until = new Date(clock.now() + deadlineOf(services.generationPolicy.deadlineMs, request.kind) + keptLongerMs);
  const recorded = await scope.transaction(async (tx) => {
    if (!(await tx.one(recordImage, { id, image: JSON.stringify(image) }))) return false;
    await services.files.record(tx, stored, until);
    await services.generationWaiters.notifyRemote(tx, id, waiter);
    return true;
  });
  failPoint('generation.input_recorded');
  services.generationWaiters.notifyLocal(id);
  return recorded ? image : undefined;
}

async function takeIn(
  services: InputServices,
  scope: Scope,
  input: AwaitedInput,
  signal: AbortSignal,
): Promise<GenerationImage | undefined> {
  const { path: folder, discard } = await openWorkFolder();
  try {
    const path = join(folder, 'given');
    const { type } = await fetchImage(services, input.imageUrl, path, { signal });
    const size = await measure(services.renderings, scope.tenantKey, path);
    const { request } = input;
    const result = request.kind === 'upscale' ? upscaledSize(size, request.scale) : size;
    if ('path' in result) throw new AppError('validation_error', result.message, { errors: [result] });
    return await keep(services, scope, input, { path, type, ...size }, signal);
  } finally {
    await discard();
  }
}

/** The fault of the caller's image, as the row keeps it; undefined for every other failure. */
export function faultOf(error: unknown): GenerationError | undefined {
  if (!(error instanceof AppError) || error.kind !== 'validation_error') return undefined;
  const [{ path, message }] = (error.facts as { errors: [{ path: 'imageUrl' | 'scale'; message: string }] }).errors;
  return { code: 'invalid_input', message, path };
}

/**
 * Fetches the image that a caller named, decodes it once and stores it for as long as the generation is under way. Harmless
 * when it is repeated: the first image that is recorded stays.
 * @returns `wait` while too many are being fetched, or when the generation has ended meanwhile
 * @throws StorageFailure, WorkQueueFull or an error of the database: another attempt may succeed; the reason of `signal`
 */
export async function fetchInput(
  services: InputServices,
  scope: Scope,
  input: AwaitedInput,
  signal: AbortSignal,
): Promise<InputProgress> {
  const leave = await services.inputPlaces.enter(scope.tenant.organizationId);
  if (!leave) return { kind: 'wait', ms: againMs(input.ageMs) };
  try {
    const image = await takeIn(services, scope, input, signal);
    return image ? { kind: 'fetched', image } : { kind: 'wait', ms: 1 };
  } catch (thrown) {
    const error = faultOf(thrown);
    if (error) return { kind: 'refused', error };
    throw thrown;
  } finally {
    leave();
  }
}
