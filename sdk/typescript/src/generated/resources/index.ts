// This file is generated from the OpenAPI document.

import { Resource } from '../../core/resource.ts';
import { Workflows } from '../../resources/workflows.ts';
import { WorkflowTemplates } from './workflow-templates.ts';
import { Runs } from '../../resources/runs.ts';
import { Batches } from './batches.ts';
import { BulkActions } from './bulk-actions.ts';
import { Tokens } from './tokens.ts';
import { Webhooks } from './webhooks.ts';
import { Approvals } from './approvals.ts';
import { Events } from './events.ts';
import { Secrets } from './secrets.ts';
import { WebhookEvents } from './webhook-events.ts';
import { Key } from './key.ts';
import { Credits } from './credits.ts';
import { Usage } from './usage.ts';
import { Models } from './models.ts';
import { Account } from './account.ts';
import { Tools } from './tools.ts';
import { Operations } from './operations.ts';
import { Files } from './files.ts';
import { Studio } from './studio.ts';
import { Chat } from '../../resources/chat.ts';
import { Agents } from '../../resources/agents.ts';
import { Voice } from './voice.ts';
import { Integrations } from './integrations.ts';
import { Scheduling } from './scheduling.ts';

export class Resources extends Resource {
  readonly workflows = new Workflows(this.transport);
  readonly workflowTemplates = new WorkflowTemplates(this.transport);
  readonly runs = new Runs(this.transport);
  readonly batches = new Batches(this.transport);
  readonly bulkActions = new BulkActions(this.transport);
  readonly tokens = new Tokens(this.transport);
  readonly webhooks = new Webhooks(this.transport);
  readonly approvals = new Approvals(this.transport);
  readonly events = new Events(this.transport);
  readonly secrets = new Secrets(this.transport);
  readonly webhookEvents = new WebhookEvents(this.transport);
  readonly key = new Key(this.transport);
  readonly credits = new Credits(this.transport);
  readonly usage = new Usage(this.transport);
  readonly models = new Models(this.transport);
  readonly account = new Account(this.transport);
  readonly tools = new Tools(this.transport);
  readonly operations = new Operations(this.transport);
  readonly files = new Files(this.transport);
  readonly studio = new Studio(this.transport);
  readonly chat = new Chat(this.transport);
  readonly agents = new Agents(this.transport);
  readonly voice = new Voice(this.transport);
  readonly integrations = new Integrations(this.transport);
  readonly scheduling = new Scheduling(this.transport);
}
