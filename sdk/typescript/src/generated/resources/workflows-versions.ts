// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WorkflowsVersions extends Resource {
  /**
   * List the versions of a workflow.
   *
   * A save that changes steps, models, config, inputs, concurrency or the maximum duration makes a version, which
   * never changes. The newest 1,000 are listed, newest first. Older ones are removed once no run names them.
   */
  list(id: string, query?: api.ListWorkflowVersionsData['query'], options?: RequestOptions): List<api.WorkflowVersion> {
    return this.transport.list(sdk.listWorkflowVersions, { path: { id }, query }, 'versions', options);
  }

  /**
   * Retrieve a version of a workflow.
   *
   * Returns the version with its definition.
   */
  get(id: string, version: string, options?: RequestOptions): Promise<api.WorkflowVersionDetail> {
    return this.transport.call(sdk.getWorkflowVersion, { path: { id, version } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Compare two versions of a workflow.
   *
   * Returns the operations that turn the definition of this version into the definition of the other version.
   */
  diff(id: string, version: string, query?: api.DiffWorkflowVersionsData['query'], options?: RequestOptions): Promise<Data<api.DiffWorkflowVersionsResponse>> {
    return this.transport.call(sdk.diffWorkflowVersions, { path: { id, version }, query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Restore a version of a workflow.
   *
   * Saves the definition of this version as a new version, which becomes the current one. Needs the scopes that
   * its steps need.
   */
  restore(id: string, version: string, options?: RequestOptions): Promise<api.WorkflowVersionDetail> {
    return this.transport.call(sdk.restoreWorkflowVersion, { path: { id, version } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
