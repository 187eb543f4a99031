// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class AccountSessions extends Resource {
  /**
   * End all sessions of the person.
   *
   * Ends every session of the person who is signed in, the current one too, at once. Open requests of these
   * sessions end within a second.
   */
  revoke(options?: RequestOptions): Promise<Data<api.RevokeSessionsResponse>> {
    return this.transport.call(sdk.revokeSessions, {}, { answer: 'json', isEnveloped: true }, options);
  }
}
