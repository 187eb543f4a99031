// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';
import { WorkflowsSchedule } from './workflows-schedule.ts';
import { WorkflowsRuns } from './workflows-runs.ts';
import { WorkflowsTriggers } from './workflows-triggers.ts';
import { WorkflowsVersions } from './workflows-versions.ts';

export class Workflows extends Resource {
  readonly schedule = new WorkflowsSchedule(this.transport);
  readonly runs = new WorkflowsRuns(this.transport);
  readonly triggers = new WorkflowsTriggers(this.transport);
  readonly versions = new WorkflowsVersions(this.transport);

  /**
   * Validate a workflow.
   *
   * Makes the checks of a save and stores nothing.
   */
  validate(body: NonNullable<api.ValidateWorkflowData['body']>, options?: RequestOptions): Promise<api.WorkflowValidation> {
    return this.transport.call(sdk.validateWorkflow, { body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Export a workflow.
   *
   * Returns the workflow with its triggers and its schedule as a document, without the envelope. It has no
   * secrets. Ids of other workflows are written as `{"$name": "…"}`.
   */
  export(id: string, query?: api.ExportWorkflowData['query'], options?: RequestOptions): Promise<api.WorkflowDocument> {
    return this.transport.call(sdk.exportWorkflow, { path: { id }, query }, { answer: 'json', isRepeatable: true }, options);
  }

  /**
   * Import a workflow.
   *
   * Creates a workflow from a document, as `application/json` or `application/yaml` of at most 1 MiB with at most
   * 100 expansions of aliases. Needs the scopes of its steps, and `runs:execute` where it has triggers or a
   * schedule. A schedule is imported paused. If a name belongs to no workflow, or to several, the answer has a
   * warning and the workflow is not active.
   */
  import(body: NonNullable<api.ImportWorkflowData['body']>, options?: RequestOptions): Promise<api.CreatedWorkflow> {
    return this.transport.call(sdk.importWorkflow, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Pause a workflow.
   *
   * New runs are accepted and wait in the queue until the workflow is resumed. Runs that have begun continue.
   */
  pause(id: string, options?: RequestOptions): Promise<api.WorkflowDetail> {
    return this.transport.call(sdk.pauseWorkflow, { path: { id } }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Resume a workflow.
   *
   * Runs that were queued begin.
   */
  resume(id: string, options?: RequestOptions): Promise<api.WorkflowDetail> {
    return this.transport.call(sdk.resumeWorkflow, { path: { id } }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * List workflows.
   *
   * Newest first. With both filters, workflows that match both are returned.
   */
  list(query?: api.ListWorkflowsData['query'], options?: RequestOptions): List<api.Workflow> {
    return this.transport.list(sdk.listWorkflows, { query }, 'workflows', options);
  }

  /**
   * Create a workflow.
   *
   * Only `name` is required, or `template`: a workflow of the gallery, with its triggers and its paused schedule.
   * That needs the scopes of its steps, and `runs:execute` where it has triggers or a schedule. A workflow
   * without steps returns its input. Workflows are active by default. What was saved but is probably not meant,
   * such as a field that does not exist or a model that no list has, is listed in `warnings`.
   */
  create(body: NonNullable<api.CreateWorkflowData['body']>, options?: RequestOptions): Promise<api.CreatedWorkflow> {
    return this.transport.call(sdk.createWorkflow, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve a workflow.
   *
   * Returns the workflow with its definition. In dialect B also its inputs and the URL of its webhook trigger.
   */
  get(id: string, options?: RequestOptions): Promise<api.WorkflowDetail> {
    return this.transport.call(sdk.getWorkflow, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Update a workflow.
   *
   * Only the given fields change. Runs that have started keep the definition they started with.
   */
  update(id: string, body: NonNullable<api.UpdateWorkflowData['body']>, options?: RequestOptions): Promise<api.ChangedWorkflow> {
    return this.transport.call(sdk.updateWorkflow, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Delete a workflow.
   *
   * Deletes the workflow and all its runs. Runs in progress are cancelled.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteWorkflowResponse>> {
    return this.transport.call(sdk.deleteWorkflow, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Execute a workflow.
   *
   * By default dialect A waits until the run has ended and dialect B returns immediately; `async` overrides this.
   * An inactive workflow is answered with 400 `workflow_inactive` (`workflow_disabled` in dialect B). A second
   * request with the same Idempotency-Key returns the same run; 409 `conflict` once that run was deleted.
   */
  execute(id: string, body?: NonNullable<api.ExecuteWorkflowData['body']>, options?: RequestOptions): Promise<api.ExecutedRun | api.AcceptedRun | api.SkippedRun> {
    return this.transport.call(sdk.executeWorkflow, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Test a workflow.
   *
   * Executes the workflow in the sandbox, whatever the environment of the key is, and waits until the run has
   * ended, at most 60 seconds. Nothing is sent, charged or counted, and no events are published. Steps of type
   * wait, event and approval complete at once. The run has `isTest`, and is listed by `GET /runs?test=true`
   * alone.
   */
  test(id: string, body: NonNullable<api.TestWorkflowData['body']>, options?: RequestOptions): Promise<api.RunDetail> {
    return this.transport.call(sdk.testWorkflow, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Trigger a workflow by webhook.
   *
   * Starts a run with the body as its inputs. Authenticate with an API key, or with the webhook secret of the
   * workflow in `X-Webhook-Secret`. A prefixed id in the path selects dialect B.
   */
  trigger(id: string, body?: NonNullable<api.TriggerWorkflowData['body']>, options?: RequestOptions & { query?: api.TriggerWorkflowData['query'] }): Promise<api.AcceptedRun | api.TriggeredRunB | api.SkippedRun> {
    return this.transport.call(sdk.triggerWorkflow, { path: { id }, body, query: options?.query }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Trigger a workflow by a URL with its secret.
   *
   * Starts a run like `POST /webhooks/{id}`, for senders that cannot set headers. The address itself
   * authenticates: treat it as a secret. Prefer the header, since proxies log addresses. Secrets created before
   * they began with `trg_` work in the header only.
   */
  triggerBySecret(id: string, secret: string, body?: NonNullable<api.TriggerWorkflowBySecretData['body']>, options?: RequestOptions): Promise<api.AcceptedRun | api.TriggeredRunB | api.SkippedRun> {
    return this.transport.call(sdk.triggerWorkflowBySecret, { path: { id, secret }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Rotate the webhook secret of a workflow.
   *
   * Creates a secret that starts this workflow when sent to `POST /webhooks/{id}` in the header
   * `X-Webhook-Secret`, or to `POST /webhooks/{id}/{secret}` by senders that cannot set headers. It begins with
   * `trg_` and is shown once. The previous secret stops working immediately.
   */
  rotateTriggerSecret(id: string, options?: RequestOptions): Promise<Data<api.RotateTriggerSecretResponse>> {
    return this.transport.call(sdk.rotateTriggerSecret, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
