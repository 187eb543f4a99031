// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Tokens extends Resource {
  /**
   * Create a token for a browser.
   *
   * A short-lived token, with which a page calls the API itself. It can do no more than the key: a scope that the
   * key lacks is answered with 403. A token that names runs, workflows, a batch or tags sees and starts only
   * those; with several of these it sees what matches all of them. `runs:execute` needs one of them. The token
   * ends when its key ends; a token that a person creates ends with the session, the membership or the role
   * `member`. A token cannot create tokens. Tokens reach the execution of workflows, the reading and cancelling
   * of runs, chat without `mcpServers`, and voice.
   */
  create(body: NonNullable<api.CreateTokenData['body']>, options?: RequestOptions): Promise<api.Token> {
    return this.transport.call(sdk.createToken, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
