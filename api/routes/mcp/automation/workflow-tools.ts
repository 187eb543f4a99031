import type { JSONObject, Tool } from '@modelcontextprotocol/server';
import type { InputDefinition } from '../../../../src/automation/core/inputs.ts';
import {
  findWorkflowTool,
  listWorkflowTools,
  type WorkflowTool,
} from '../../../../src/automation/definitions/mcp-tools.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import { AppError, type FieldError, invalid } from '../../../../src/platform/errors.ts';
import type { ToolAnswer, ToolCall } from '../tool.ts';
import { startRun } from './start-run.ts';

/** A larger default is not shown. It applies all the same. */
const maxDefaultLength = 1_000;

function propertyOf({ type, description, default: byDefault }: InputDefinition) {
  const shown = byDefault === undefined ? undefined : JSON.stringify(byDefault);
  return {
    type,
    ...(description !== undefined && { description }),
    ...(shown !== undefined && shown.length <= maxDefaultLength && { default: byDefault }),
  };
}

/** Workflows without definitions take anything as their input. */
const anyInput = {
  type: 'object' as const,
  properties: { input: { description: 'The input of the workflow: any JSON.' } },
};

function schemaOf(inputs: readonly InputDefinition[] | null): Tool['inputSchema'] {
  if (inputs === null) return { type: 'object' };
  if (inputs.length === 0) return anyInput;
  const required = inputs.filter((one) => one.required && one.default === undefined).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(inputs.map((one) => [one.name, propertyOf(one) as JSONObject])),
    ...(required.length > 0 && { required }),
  };
}

const shownTool = ({ name, title, description, inputs, outputSchema }: WorkflowTool): Tool => ({
  name,
  title,
  description: description || title,
  inputSchema: schemaOf(inputs),
  ...(outputSchema && { outputSchema: outputSchema as NonNullable<Tool['outputSchema']> }),
  annotations: { readOnlyHint: false, openWorldHint: true },
});

/** The tools of workflows, by name, behind the one with this name. */
export async function pageOfWorkflowTools(scope: Scope, after: string, limit: number) {
  const { tools, hasMore } = await listWorkflowTools(scope, { after, limit });
  return { tools: tools.map(shownTool), next: hasMore ? tools.at(-1)?.name : undefined };
}

/** Problems of inputs at the paths of the arguments, which they are. */
function atArguments(error: unknown): unknown {
  const errors = error instanceof AppError && error.kind === 'validation_error' && error.facts?.errors;
  if (!errors) return error;
  const named = (errors as FieldError[]).map(({ path, message }) => ({ path: path.replace(/^inputs\./, ''), message }));
  return invalid(named, (error as AppError).message);
}

/** Calls the tool of a workflow. @returns undefined where no workflow is this tool */
export async function callWorkflowTool(call: ToolCall): Promise<ToolAnswer | undefined> {
  const tool = await findWorkflowTool(call.scope, call.name);
  if (!tool) return undefined;
  const { args } = call;
  const takesInput = tool.inputs?.length === 0;
  const request = takesInput
    ? { input: { value: args.input ?? null }, variables: {} }
    : { input: 'whole' as const, variables: args };
  const { outputSchema } = tool;
  return startRun(call, { workflowId: tool.id, request, outputSchema }).catch((error: unknown) => {
    throw atArguments(error);
  });
}
