// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingEventTypes extends Resource {
  /**
   * List event types.
   *
   * All event types, newest first.
   */
  list(options?: RequestOptions): List<api.EventType> {
    return this.transport.list(sdk.listEventTypes, {}, 'eventTypes', options);
  }

  /**
   * Create an event type.
   *
   * An event type defines what can be booked: how long it takes, with whom and by which rules. A slug that
   * exists, more than 500 event types, and more than 1.5 MiB of them, are answered with 409 `conflict`.
   */
  create(body: NonNullable<api.CreateEventTypeData['body']>, options?: RequestOptions): Promise<api.EventType> {
    return this.transport.call(sdk.createEventType, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve an event type.
   *
   * Returns the event type.
   */
  get(id: string, options?: RequestOptions): Promise<api.EventType> {
    return this.transport.call(sdk.getEventType, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Update an event type.
   *
   * Only the given fields change; lists are replaced as a whole. Existing bookings keep their length and their
   * buffers. A slug that exists, and more than 1.5 MiB of event types, are answered with 409 `conflict`.
   */
  update(id: string, body: NonNullable<api.UpdateEventTypeData['body']>, options?: RequestOptions): Promise<api.EventType> {
    return this.transport.call(sdk.updateEventType, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete an event type.
   *
   * Its bookings stay and can be cancelled. Its slug is free again.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteEventTypeResponse>> {
    return this.transport.call(sdk.deleteEventType, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
