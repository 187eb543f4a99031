import type { ImportedDocument } from '../../../../src/automation/documents/import-automation.ts';
import { findTemplate } from '../../../../src/automation/templates/gallery.ts';
import { triggersSchema } from '../../../schemas/automation/event.ts';
import { readSchedule, readTriggers } from '../../../schemas/automation/read-starts.ts';
import { readNewWorkflow } from '../../../schemas/automation/read-workflow.ts';
import { newScheduleSchema } from '../../../schemas/automation/schedule.ts';
import { newWorkflowSchema } from '../../../schemas/automation/workflow.ts';
import type { FromTemplateBody } from '../../../schemas/automation/workflow-template.ts';

/** A workflow of a template, with its triggers and its schedule, which is paused. */
export function readTemplate({ template: id, name }: FromTemplateBody): ImportedDocument {
  const template = findTemplate(id)!;
  const { description, steps, inputs, triggers = [], schedule } = template;
  const workflow = newWorkflowSchema.parse({ name: name ?? template.name, description, steps, inputs });
  return {
    workflow: readNewWorkflow(workflow),
    triggers: readTriggers(triggersSchema.parse({ triggers })),
    schedule: schedule ? readSchedule(newScheduleSchema.parse({ ...schedule, paused: true })) : null,
  };
}
