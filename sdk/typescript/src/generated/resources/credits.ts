// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { CreditsEntries } from './credits-entries.ts';

export class Credits extends Resource {
  readonly entries = new CreditsEntries(this.transport);

  /**
   * Retrieve the credit balance.
   *
   * The balance of the key's environment. Test credits and live credits are separate.
   */
  get(options?: RequestOptions): Promise<api.Credits> {
    return this.transport.call(sdk.getCredits, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
