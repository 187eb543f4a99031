import { approvalTools } from './automation/approval-tools.ts';
import { runTools } from './automation/run-tools.ts';
import { schedulingTools } from './scheduling.ts';
import { studioTools } from './studio.ts';
import type { Tool } from './tool.ts';
import { voiceTools } from './voice.ts';

export { cancelTask, getTask, updateTask } from './automation/tasks.ts';
export { callWorkflowTool, pageOfWorkflowTools } from './automation/workflow-tools.ts';

/** The tools that every environment has, in the order of lists. Here the features meet: a new tool takes one line. */
export const tools: readonly Tool[] = [
  ...runTools,
  ...approvalTools,
  ...studioTools,
  ...voiceTools,
  ...schedulingTools,
];
