// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class AccountIdentities extends Resource {
  /**
   * List the identities of the person.
   *
   * The identities at the OpenID provider that the signed-in person can sign in with, oldest first.
   */
  list(options?: RequestOptions): List<api.Identity> {
    return this.transport.list(sdk.listIdentities, {}, 'identities', options);
  }

  /**
   * Unlink an identity of the person.
   *
   * The person can no longer sign in with this identity. Open sessions continue. Signing in at the provider with
   * the address of the account links it again. If the person has no password, no passkey and no other identity,
   * the answer is 409 `conflict` and `details {reason: "only_way_to_sign_in"}`.
   */
  delete(identityId: string, options?: RequestOptions): Promise<Data<api.DeleteIdentityResponse>> {
    return this.transport.call(sdk.deleteIdentity, { path: { identityId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
