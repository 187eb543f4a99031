// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Events extends Resource {
  /**
   * Read events.
   *
   * Returns the events of the last seven days in the order in which they were committed, as webhooks get them.
   * Repeat the request with `after`: each event is returned once. A page may have fewer events than `limit`
   * although there are more. With
   * `waitSeconds` the request waits until there is an event.
   *
   * Events are recorded from the first call on, or from the first webhook, trigger or workflow with an `event`
   * step, until
   * seven days after the last use. Events of integrations are recorded where a webhook, a trigger or a step names
   * their
   * type. Names of `POST /events`, tests and examples are not in the list. An event whose content was removed has
   * `data`
   * null and `contentExpungedAt`.
   */
  poll(query?: api.PollEventsData['query'], options?: RequestOptions): Promise<Data<api.PollEventsResponse>> {
    return this.transport.call(sdk.pollEvents, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

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
