import type { z } from 'zod';
import type { SettingsOf } from '../env.ts';
import type { DrainReport, OutboxHandlers } from '../outbox/outbox.ts';
import { type Catalog, catalogOf, refuseTwice } from './catalog.ts';
import type { AnyPart, Part, Sweep } from './part.ts';
import type { StepKinds } from './step-kind.ts';

/** Everything that the parts of one process opened. */
interface OpenedParts<Services> {
  services: Services;
  outbox: OutboxHandlers;
  /** Further work of the drain of the outbox. */
  drains: (() => Promise<DrainReport>)[];
  sweeps: Sweep[];
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The parts of the product in their order: each may use what those before it give.
 * @typeParam Services what all of them give together, with the foundation
 * @typeParam Values of their settings
 */
export class Composition<Services extends object, Values extends object> {
  readonly #parts: readonly AnyPart[];
  #catalog: Catalog | undefined;

  constructor(parts: readonly AnyPart[] = []) {
    this.#parts = parts;
  }

  /** Adds a part at the end. */
  with<Gives extends object, Shape extends z.ZodRawShape>(
    part: Part<Services, Gives, Shape>,
  ): Composition<Services & Gives, Values & SettingsOf<Shape>> {
    return new Composition([...this.#parts, part]);
  }

  /** @throws Error when two parts claim one name */
  get catalog(): Catalog {
    this.#catalog ??= catalogOf(this.#parts);
    return this.#catalog;
  }

  /**
   * Opens every part.
   * @param foundation what the first part may use
   * @throws Error when two parts give one service, or claim one outbox kind, sweep or gauge
   */
  async open(foundation: object): Promise<OpenedParts<Services>> {
    const services: Record<string, unknown> = { ...foundation };
    const given: [string, string][] = Object.keys(services).map((name) => ['foundation', name]);
    for (const part of this.#parts) {
      const gives: object = await part.open(services);
      given.push(...Object.keys(gives).map((name): [string, string] => [part.name, name]));
      refuseTwice('service', given);
      Object.assign(services, gives);
    }
    const built = <Made>(make: (part: AnyPart) => readonly Made[] | undefined) =>
      this.#parts.flatMap((part) => (make(part) ?? []).map((made) => [part.name, made] as const));
    const handlers = built((part) => Object.entries<OutboxHandlers[string]>(part.outbox?.(services) ?? {}));
    const sweeps = built((part) => part.sweeps?.(services));
    const gauges = built((part) => part.gauges?.(services));
    refuseTwice(
      'outbox kind',
      handlers.map(([part, [kind]]) => [part, kind] as const),
    );
    refuseTwice(
      'sweep',
      sweeps.map(([part, { name }]) => [part, name] as const),
    );
    refuseTwice(
      'gauge',
      gauges.map(([part, { name }]) => [part, name] as const),
    );
    for (const [, gauge] of gauges) (foundation as { metrics: { gauge(of: typeof gauge): void } }).metrics.gauge(gauge);
    (foundation as { stepKinds?: StepKinds }).stepKinds?.open(this.catalog.stepKinds.values(), services);
    return {
      services: services as Services,
      outbox: Object.fromEntries(handlers.map(([, entry]) => entry)),
      drains: this.#parts.flatMap((part) => part.drain?.(services) ?? []),
      sweeps: sweeps.map(([, sweep]) => sweep),
      start: async () => {
        for (const part of this.#parts) await part.start?.(services);
      },
      close: async () => {
        for (const part of [...this.#parts].reverse()) await part.close?.(services);
      },
    };
  }
}
