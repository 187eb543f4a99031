import type { RequestOptions, StreamOptions } from '../core/options.ts';
import type { EventStream } from '../core/streams.ts';
import { follow, poll, type WaitOptions, withinTime } from '../core/waiting.ts';
import { streamRunEvents } from '../generated/api/sdk.gen.ts';
import type { RunDetail, StreamRunEventsData } from '../generated/api/types.gen.ts';
import { Runs as GeneratedRuns } from '../generated/resources/runs.ts';
import { endsRun, type RunEvent } from '../run-events.ts';

export interface RunWaitOptions extends WaitOptions {
  /** Called with each event of the run. An error that it throws ends the waiting. */
  onEvent?: ((event: RunEvent) => void) | undefined;
}

const endedStatuses: readonly RunDetail['status'][] = ['COMPLETED', 'FAILED', 'CANCELLED'];

export class Runs extends GeneratedRuns {
  /**
   * Stream the events of a run, from its beginning or after `lastEventId`, until it has ended. A lost connection is opened
   * anew, and no event comes twice. With `deltas` it has what models write, as they write it.
   */
  override events(id: string, query?: StreamRunEventsData['query'], options?: StreamOptions): EventStream<RunEvent> {
    return this.transport.stream<RunEvent>(streamRunEvents, { path: { id }, query }, options, endsRun);
  }

  /**
   * Wait until a run has ended, and return it, however it ended. Follows its events, and reads it from time to time where
   * that is not possible.
   */
  wait(id: string, { onEvent, ...options }: RunWaitOptions = {}): Promise<RunDetail> {
    return withinTime(options, async (signal) => {
      const request: RequestOptions = { signal };
      await follow(this.events(id, undefined, request), onEvent, signal);
      return poll(
        () => this.get(id, request),
        ({ status }) => endedStatuses.includes(status),
        signal,
      );
    });
  }
}
