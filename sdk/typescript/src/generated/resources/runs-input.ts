// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class RunsInput extends Resource {
  /**
   * Retrieve the input of a run.
   *
   * Returns the input and the variables of a run, of any size. Other answers refer to this operation with `{$ref,
   * bytes}` in place of large ones.
   */
  get(id: string, options?: RequestOptions): Promise<api.RunInput> {
    return this.transport.call(sdk.getRunInput, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
