import type { Foundation } from '../foundation.ts';
import type { Waiters } from '../platform/concurrency/waiters.ts';
import type { Part } from '../platform/parts/part.ts';
import type { ProviderServices } from '../providers/index.ts';
import type { StorageServices } from '../storage/index.ts';
import { scalePauses } from '../temporal/contracts/retry-profile.ts';
import { defaultGenerationPolicy, type GenerationPolicy } from '../temporal/contracts/studio.ts';
import { generationIds, videoIds } from './core/ids.ts';
import { generationStates } from './core/status.ts';
import { studioDeclarations } from './declarations.ts';
import { Generation, GenerationBlock, GenerationTotal } from './entities.ts';
import { InputPlaces } from './fetch-input.ts';
import { countGenerationBlocks } from './history.ts';
import { generationJob } from './job.ts';
import { removeOldGenerations } from './remove-generations.ts';
import { studioSteps } from './steps.ts';
import { GenerationWatch } from './watch-generation.ts';

interface StudioServices {
  generationWaiters: Waiters;
  generationPolicy: GenerationPolicy;
  inputPlaces: InputPlaces;
  generationWatch: GenerationWatch;
}

/** Pictures, videos and music made by models. */
export const studio: Part<Foundation & ProviderServices & StorageServices, StudioServices> = {
  ...studioDeclarations,
  states: { 'A generation': generationStates },
  entities: [Generation, GenerationTotal, GenerationBlock],
  rowBounds: {
    generation: {
      retention: { by: 'remove generations after their retention', after: 'the days of the plan from its end' },
    },
    generation_total: { max: { rows: 1, of: 'environment' } },
    generation_block: { removedWith: { table: 'generation', by: ['generation.remove_empty_blocks'] } },
  },
  ids: [generationIds, videoIds],
  ...generationJob.declarations,
  stepKinds: studioSteps,
  open({ env, notifications, temporal, background, log }) {
    const generationPolicy = scalePauses(defaultGenerationPolicy, env.ATTEMPT_TIME_SCALE);
    return {
      generationWaiters: generationJob.openWaiters(notifications),
      generationPolicy,
      inputPlaces: new InputPlaces(),
      generationWatch: new GenerationWatch({ temporal, generationPolicy, background, log }),
    };
  },
  outbox: generationJob.outbox,
  gauges: generationJob.gauges,
  sweeps: (services) => [
    ...generationJob.sweeps(services),
    {
      name: 'remove generations after their retention',
      everyMs: 3_600_000,
      run: () => removeOldGenerations(services.database),
    },
    {
      name: 'count ended generations in blocks',
      everyMs: 60_000,
      run: () => countGenerationBlocks(services.database),
    },
  ],
};
