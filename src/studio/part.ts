import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/batches.ts';
import { openWorkGauges } from '../platform/open-work.ts';
import type { Part } from '../platform/part.ts';
import { Waiters } from '../platform/waiters.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import type { ProviderServices } from '../providers/index.ts';
import type { StorageServices } from '../storage/index.ts';
import { defaultGenerationPolicy, type GenerationPolicy } from '../temporal/contracts/studio.ts';
import { generationIds, videoIds } from './core/ids.ts';
import { generationStates } from './core/status.ts';
import { type StartHint, startPendingGeneration } from './create-generation.ts';
import { studioDeclarations } from './declarations.ts';
import { Generation, GenerationBlock, GenerationTotal } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { InputPlaces } from './fetch-input.ts';
import { cancelMakeGeneration } from './generation-workflows.ts';
import { countGenerationBlocks } from './history.ts';
import { endOverdueGenerations, watchStoppedGenerations } from './overdue.ts';
import { removeOldGenerations } from './remove-generations.ts';
import { GenerationWatch } from './watch-generation.ts';

export interface StudioServices {
  generationWaiters: Waiters;
  generationPolicy: GenerationPolicy;
  inputPlaces: InputPlaces;
  generationWatch: GenerationWatch;
}

const overdueBatchSize = 50;

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
  failPoints: failPoint.names,
  promptKinds: ['generation.start'],
  open({ notifications, temporal, background, log }) {
    const generationWaiters = new Waiters('generation');
    const generationPolicy = defaultGenerationPolicy;
    const generationWatch = new GenerationWatch({ temporal, generationPolicy, background, log });
    notifications.on(generationWaiters.channel, (id) => generationWaiters.notifyLocal(id));
    return { generationWaiters, generationPolicy, inputPlaces: new InputPlaces(), generationWatch };
  },
  outbox: (services) => ({
    'generation.start': (scope, id, hint?: StartHint) => startPendingGeneration(services, scope, id, hint),
    'generation.cancel': (_, id) => cancelMakeGeneration(services.temporal, id),
  }),
  gauges: ({ observer }) =>
    openWorkGauges(observer, {
      name: 'generations',
      title: 'Generations of Studio',
      table: 'generation',
      kinds: ['image', 'video', 'music', 'upscale', 'background_removal'] satisfies MediaKind[],
      isOpen: `status in (${generationStates.sql('processing')})`,
    }),
  sweeps: ({ database, temporal, log, files, generationWaiters: waiters, generationPolicy: { deadlineMs } }) => [
    {
      name: 'end generations that were terminated in Temporal',
      everyMs: 5_000,
      run: watchStoppedGenerations({ database, temporal, log, files, waiters }),
    },
    {
      name: 'end generations that nobody works on',
      everyMs: 60_000,
      run: () =>
        inBatches(
          (limit) => endOverdueGenerations({ database, log, files, waiters }, deadlineMs, limit),
          overdueBatchSize,
        ),
    },
    {
      name: 'remove generations after their retention',
      everyMs: 3_600_000,
      run: () => removeOldGenerations(database),
    },
    { name: 'count ended generations in blocks', everyMs: 60_000, run: () => countGenerationBlocks(database) },
  ],
};
