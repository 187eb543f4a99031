// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingHosts extends Resource {
  /**
   * List hosts.
   *
   * The hosts whose time can be booked, newest first. The default host always exists.
   */
  list(options?: RequestOptions): List<api.Host> {
    return this.transport.list(sdk.listHosts, {}, 'hosts', options);
  }

  /**
   * Create a host.
   *
   * A host has a calendar of its own, open from Monday to Friday, 9 to 17, until its availability rules are set.
   * Bookings of different hosts never clash. The plan limits how many there are.
   */
  create(body: NonNullable<api.CreateHostData['body']>, options?: RequestOptions): Promise<api.Host> {
    return this.transport.call(sdk.createHost, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Update a host.
   *
   * Only the given fields change. Its hours are set by its availability rules.
   */
  update(id: string, body: NonNullable<api.UpdateHostData['body']>, options?: RequestOptions): Promise<api.Host> {
    return this.transport.call(sdk.updateHost, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete a host.
   *
   * Past and cancelled bookings stay; blackouts and exceptions that name the host are deleted. The default host,
   * one that an event type names, one with connected calendars, and one with confirmed bookings that are not over
   * are answered with 409 `conflict`.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteHostResponse>> {
    return this.transport.call(sdk.deleteHost, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
