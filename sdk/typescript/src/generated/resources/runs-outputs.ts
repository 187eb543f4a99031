// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class RunsOutputs extends Resource {
  /**
   * Retrieve the output of a step.
   *
   * Returns outputs of any size. Other answers refer to this operation with `{$ref, bytes}` in place of large
   * outputs.
   */
  get(id: string, stepId: string, query?: api.GetStepOutputData['query'], options?: RequestOptions): Promise<api.StepOutput> {
    return this.transport.call(sdk.getStepOutput, { path: { id, stepId }, query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
