import { createInterface } from 'node:readline/promises';

/** Asks a person at the terminal. What standard output has is for programs, so the question is on standard error. */
export async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
