/** The result of a call of a tool. Failures of tools are results too: the model reads them. */
export interface ToolResult {
  /** At most 32 KiB of UTF-8, without paths of the machine. */
  text: string;
  isError: boolean;
}

export const failedResult = (text: string): ToolResult => ({ text, isError: true });
