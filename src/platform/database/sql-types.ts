/** PostgreSQL's types in the declarations of statements, with the type of a value that is read. `text` is also `varchar`. */
interface ReadTypes {
  uuid: string;
  text: string;
  boolean: boolean;
  smallint: number;
  int: number;
  float8: number;
  /** As text, because a number of JavaScript has no 64 bits. */
  bigint: string;
  numeric: string;
  timestamptz: Date;
  date: Date;
  bytea: Buffer;
  json: unknown;
  jsonb: unknown;
}

/** The types of bound values, if they differ from those of read values. */
interface BoundTypes extends Omit<ReadTypes, 'bigint' | 'timestamptz' | 'date' | 'json' | 'jsonb'> {
  bigint: string | number | bigint;
  timestamptz: Date | string;
  date: Date | string;
  /** JSON that is written already: PostgreSQL's driver would make an array of its own of a list. */
  json: string;
  jsonb: string;
}

/** `text?` may be null, `text[]` is an array, and `text?[]` an array of values that may be null. */
export type SqlType = `${keyof ReadTypes}${'' | '[]' | '?[]'}${'' | '?'}`;

/** A type with a narrower type in TypeScript. */
export interface Typed<T> {
  readonly sqlType: SqlType;
  /** Only carries the type. */
  readonly value?: T;
}

/** What PostgreSQL's type does not say: the type of JSON, and the values of a text. `typed<Status>('text')` */
export const typed = <T>(sqlType: SqlType): Typed<T> => ({ sqlType });

/** Names with their types, as a statement declares its parameters and the columns of its rows. */
export type Declaration = Readonly<Record<string, SqlType | Typed<unknown>>>;

type ReadValue<Type> =
  Type extends Typed<infer T>
    ? T
    : Type extends `${infer Base}?`
      ? ReadValue<Base> | null
      : Type extends `${infer Item}[]`
        ? ReadValue<Item>[]
        : Type extends keyof ReadTypes
          ? ReadTypes[Type]
          : never;

type BoundValue<Type> =
  Type extends Typed<infer T>
    ? T
    : Type extends `${infer Base}?`
      ? BoundValue<Base> | null
      : Type extends `${infer Item}[]`
        ? readonly BoundValue<Item>[]
        : Type extends keyof BoundTypes
          ? BoundTypes[Type]
          : never;

/** A row with these columns. */
export type RowWith<Columns extends Declaration> = { -readonly [Name in keyof Columns]: ReadValue<Columns[Name]> };

/** Values for these parameters. */
export type ValuesFor<Parameters extends Declaration> = {
  readonly [Name in keyof Parameters]: BoundValue<Parameters[Name]>;
};

const sqlTypeOf = (type: SqlType | Typed<unknown>): SqlType => (typeof type === 'string' ? type : type.sqlType);

/** The PostgreSQL name of a declared type, without its nullability. */
export const postgresType = (type: SqlType | Typed<unknown>): string => sqlTypeOf(type).replaceAll('?', '');
