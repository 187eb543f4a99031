// Workflows as tools of the MCP server.

/** Whether, and as what, assistants see a workflow. */
export interface McpSetting {
  enabled: boolean;
  /** Unique in the environment. Made from the id unless given. */
  name?: string | undefined;
  /** The purpose of the tool, in words for a model. Default: the description of the workflow. */
  description?: string | undefined;
}

/** The tools that every environment has. No workflow may take their names. */
export const fixedTools = [
  'list_workflows',
  'run_workflow',
  'get_run',
  'list_runs',
  'cancel_run',
  'list_approvals',
  'respond_to_approval',
  'generate_image',
  'speak',
  'transcribe',
  'find_times',
  'book_time',
] as const;
type FixedTool = (typeof fixedTools)[number];

/** Workflows of an environment that are tools. */
export const maxToolWorkflows = 200;
export const toolNamePattern = /^[a-z0-9_]{1,64}$/;

/** The name of a workflow's tool; null where it is none. `id` is a UUID. */
export const toolNameOf = (id: string, setting: McpSetting | null): string | null =>
  setting?.enabled ? (setting.name ?? `workflow_${id.slice(-12)}`) : null;

export const isFixedTool = (name: string): name is FixedTool => (fixedTools as readonly string[]).includes(name);
