// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { AccountSessions } from './account-sessions.ts';
import { AccountIdentities } from './account-identities.ts';

export class Account extends Resource {
  readonly sessions = new AccountSessions(this.transport);
  readonly identities = new AccountIdentities(this.transport);

  /**
   * Retrieve the signed-in person.
   *
   * Returns the person of the session and the organizations with the role in each. Keys have no person.
   */
  get(options?: RequestOptions): Promise<api.SignedInPerson> {
    return this.transport.call(sdk.getAccount, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
