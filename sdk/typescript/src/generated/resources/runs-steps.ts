// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class RunsSteps extends Resource {
  /**
   * List the steps of a run.
   *
   * Lists the steps in the order of their start, including steps within others, and then the steps that an ended
   * run never reached. Outputs of more than 256 KiB are replaced by `{$ref, bytes}`; so are the largest ones of a
   * page that has more than 2 MiB.
   */
  list(id: string, query?: api.ListRunStepsData['query'], options?: RequestOptions): List<api.RunStep> {
    return this.transport.list(sdk.listRunSteps, { path: { id }, query }, 'steps', options);
  }
}
