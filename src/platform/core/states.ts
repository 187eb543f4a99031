/** One state: its meaning, and the states it can change to. */
interface StateDefinition {
  /** One plain sentence, for the published documentation. */
  readonly meaning: string;
  /** Whether something can be created in this state. */
  readonly initial?: boolean;
  /** A state that leads nowhere is terminal. */
  readonly to: readonly string[];
}

/** A column that holds one of the states, as the database names it. */
interface StateColumn {
  readonly table: string;
  readonly column: string;
}

export interface StateTable<State extends string, Terminal extends State = State> {
  /** Where the state is stored; undefined when it is derived from other columns. */
  readonly storedIn: StateColumn | undefined;
  /** In the order of their definition. */
  readonly all: readonly [State, ...State[]];
  readonly initial: readonly State[];
  readonly terminal: readonly Terminal[];
  meaning(state: State): string;
  isTerminal(state: State): state is Terminal;
  canMove(from: State, to: State): boolean;
  /** The states that this one can change to. */
  after(state: State): readonly State[];
  /** The states that can change to this one: what an UPDATE accepts in its WHERE. */
  before(state: State): readonly State[];
  /** Literals for SQL: `status in (${table.sql('queued', 'running')})`. */
  sql(...states: readonly State[]): string;
}

// biome-ignore lint/suspicious/noExplicitAny: tables of different states in one list
export type AnyStateTable = StateTable<any>;

type Checked<Of> = { readonly [Name in keyof Of]: { readonly to: readonly (keyof Of)[] } };
type TerminalOf<Of> = {
  [Name in keyof Of]: Of[Name] extends { readonly to: readonly [] } ? Name : never;
}[keyof Of];

/**
 * Defines a state machine. The database, the guards, the published documentation and the guides take its states and
 * transitions from here.
 * @throws Error when a state cannot stand in SQL as it is
 */
export function defineStates<const Of extends Readonly<Record<string, StateDefinition>>>(
  storedIn: StateColumn | undefined,
  of: Of & Checked<Of>,
): StateTable<keyof Of & string, TerminalOf<Of> & string> {
  type State = keyof Of & string;
  type Terminal = TerminalOf<Of> & string;
  const states: Readonly<Record<string, StateDefinition>> = of;
  const all = Object.keys(states) as [State, ...State[]];
  for (const state of all) if (!/^[a-z_]+$/.test(state)) throw new Error(`"${state}" cannot be a state.`);
  const after = (state: State) => states[state]!.to as readonly State[];
  const isTerminal = (state: State): state is Terminal & State => after(state).length === 0;
  return {
    storedIn,
    all,
    initial: all.filter((state) => states[state]!.initial),
    terminal: all.filter(isTerminal),
    meaning: (state) => states[state]!.meaning,
    isTerminal,
    canMove: (from, to) => after(from).includes(to),
    after,
    before: (to) => all.filter((from) => after(from).includes(to)),
    sql: (...given) => given.map((state) => `'${state}'`).join(', '),
  };
}

/** The meanings of states in one text, for the documentation of a field. `word` renders a state as callers see it. */
export const describeStates = <State extends string>(
  table: StateTable<State>,
  word: (state: State) => string = (state) => state,
): string => table.all.map((state) => `\`${word(state)}\`: ${table.meaning(state)}`).join(' ');
