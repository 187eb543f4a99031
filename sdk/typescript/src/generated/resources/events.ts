// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Events extends Resource {
  /**
   * Send an event.
   *
   * Resumes every step of a run that waits for an event of this name and whose `match` is true, and starts every
   * active
   * workflow with a trigger for it whose filter is true. An event is kept for an hour, for steps that look back.
   * An
   * event and a step that begins to wait at the same moment are decided by the order in which they were stored.
   */
  send(body: NonNullable<api.SendEventData['body']>, options?: RequestOptions): Promise<api.ReceivedEvent> {
    return this.transport.call(sdk.sendEvent, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
