// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WorkflowTemplates extends Resource {
  /**
   * List workflow templates.
   *
   * Example workflows, each for one feature. `POST /workflows` with `template` creates a workflow from one.
   */
  list(query?: api.ListWorkflowTemplatesData['query'], options?: RequestOptions): List<api.WorkflowTemplate> {
    return this.transport.list(sdk.listWorkflowTemplates, { query }, 'templates', options);
  }
}
