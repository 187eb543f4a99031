// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WorkflowsRuns extends Resource {
  /**
   * List runs of a workflow.
   *
   * Newest first, including runs in progress. Values of more than 16 KiB are replaced by `{$ref, bytes}`; so are
   * all outputs of a run that have more together.
   */
  list(id: string, query?: api.ListWorkflowRunsData['query'], options?: RequestOptions): List<api.Run> {
    return this.transport.list(sdk.listWorkflowRuns, { path: { id }, query }, 'runs', options);
  }
}
