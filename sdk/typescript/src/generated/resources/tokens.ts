// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Tokens extends Resource {
  /**
   * Create a token for a browser.
   *
   * A short-lived token, with which a page calls the API itself. It may do no more than the key: a scope that the
   * key lacks is answered with 403. A token that names runs, workflows, a batch or tags sees and starts those
   * alone; with several of these it sees what all of them name. `runs:execute` needs one. It ends when its key
   * does; one that a person makes ends with the session, the membership, or the role `member`. It makes no
   * tokens. Tokens reach the execution of workflows, the reading and cancelling of runs, chat without
   * `mcpServers`, and voice.
   */
  create(body: NonNullable<api.CreateTokenData['body']>, options?: RequestOptions): Promise<api.Token> {
    return this.transport.call(sdk.createToken, { body }, { answer: 'json', isEnveloped: true }, options);
  }
}
