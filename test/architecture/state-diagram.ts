import type { StateTable } from '../../src/platform/core/states.ts';

/** A state machine as the guide to lifecycles shows it: a line for each state, with what it means and what follows it. */
export function diagramOf(name: string, table: StateTable<string>): string {
  const width = Math.max(...table.all.map((state) => state.length));
  const rows = table.all.map((state) => {
    const to = table.after(state);
    return { state, to: to.length > 0 ? `-> ${to.join(', ')}` : 'final' };
  });
  const toWidth = Math.max(...rows.map(({ to }) => to.length));
  const lines = rows.map(
    ({ state, to }) => `      ${state.padEnd(width)}  ${to.padEnd(toWidth)}  ${table.meaning(state)}`,
  );
  return [`    ${name}`, ...lines].join('\n');
}
