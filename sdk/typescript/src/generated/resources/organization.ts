// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Organization extends Resource {
  /**
   * Retrieve the organization.
   *
   * The organization of the key, or the one that a session names.
   */
  get(options?: RequestOptions): Promise<api.Organization> {
    return this.transport.call(sdk.getOrganization, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Change the organization.
   *
   * Changes the given fields. A slug that another organization has is answered with 409.
   */
  update(body: NonNullable<api.UpdateOrganizationData['body']>, options?: RequestOptions): Promise<api.Organization> {
    return this.transport.call(sdk.updateOrganization, { body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete the organization.
   *
   * Needs an owner's session and the organization's name. Its keys, tokens and sessions stop working at once, and
   * no work is done for it any more. For 30 days the operator can restore it; then everything is removed.
   */
  delete(body: NonNullable<api.DeleteOrganizationData['body']>, options?: RequestOptions): Promise<api.DeletedOrganization> {
    return this.transport.call(sdk.deleteOrganization, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
