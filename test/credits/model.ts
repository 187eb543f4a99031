import type { PlanName } from '../../src/tenancy/core/plans.ts';

// What the ledger is to do, said once more in the plainest way: one tenant, one thing after another, all in memory.

export interface ModelReservation {
  operation: string;
  amount: number;
  monthly: number;
  lasting: number;
  period: string;
  expiresAt: Date;
  status: 'held' | 'settled' | 'voided' | 'expired';
  charged: number;
}

const planCredits: Record<PlanName, number> = { free: 100, pro: 1_000, team: 5_000, enterprise: 10_000 };

export class ModelLedger {
  readonly #environment: 'live' | 'test';
  plan: PlanName;
  ownGrant: number | null = null;
  readonly reservations = new Map<string, ModelReservation>();
  readonly charges: { at: Date; credits: number }[] = [];
  #monthly = 0;
  #lasting = 0;
  #period = '';
  #given = 0;

  constructor(environment: 'live' | 'test', plan: PlanName) {
    this.#environment = environment;
    this.plan = plan;
  }

  get monthlyGrant(): number {
    if (this.#environment === 'test') return 0;
    return this.plan === 'enterprise' ? (this.ownGrant ?? planCredits.enterprise) : planCredits[this.plan];
  }

  get reserved(): number {
    return [...this.reservations.values()].reduce((sum, one) => sum + (one.status === 'held' ? one.amount : 0), 0);
  }

  get available(): number {
    return this.#monthly + this.#lasting;
  }

  /** What is due by now. */
  look(now: Date): void {
    if (this.#environment === 'test') {
      if (this.#period === '') this.#lasting += 10_000;
      this.#period = 'once';
      return;
    }
    const month = now.toISOString().slice(0, 7);
    if (month < this.#period) return;
    if (month > this.#period) {
      this.#monthly = 0;
      this.#given = 0;
    }
    const rest = Math.max(0, this.monthlyGrant - this.#given);
    this.#monthly += rest;
    this.#given += rest;
    this.#period = month;
  }

  grant(amount: number): void {
    this.#lasting += amount;
  }

  /** @returns the reservation, or why there is none */
  reserve(key: string, operation: string, amount: number, expiresAt: Date, now: Date): ModelReservation | string {
    const earlier = this.reservations.get(key);
    if (earlier) return earlier.operation === operation && earlier.amount === amount ? earlier : 'conflict';
    this.look(now);
    if (this.available < amount) return 'insufficient_credits';
    const monthly = Math.min(this.#monthly, amount);
    const lasting = amount - monthly;
    this.#monthly -= monthly;
    this.#lasting -= lasting;
    const period = this.#period;
    const made: ModelReservation = {
      operation,
      amount,
      monthly,
      lasting,
      period,
      expiresAt,
      status: 'held',
      charged: 0,
    };
    this.reservations.set(key, made);
    return made;
  }

  end(key: string, status: 'settled' | 'voided' | 'expired', used: number, now: Date): ModelReservation | undefined {
    const reservation = this.reservations.get(key);
    if (reservation?.status !== 'held') return reservation;
    const charged = Math.min(used, reservation.amount);
    const fromMonthly = Math.min(charged, reservation.monthly);
    this.#lasting += reservation.lasting - (charged - fromMonthly);
    if (reservation.period === this.#period) this.#monthly += reservation.monthly - fromMonthly;
    Object.assign(reservation, { status, charged });
    if (charged > 0) this.charges.push({ at: now, credits: charged });
    return reservation;
  }

  sweep(limit: number, now: Date): void {
    const expired = [...this.reservations].filter(([, one]) => one.status === 'held' && one.expiresAt <= now);
    expired.sort(([, a], [, b]) => a.expiresAt.getTime() - b.expiresAt.getTime());
    for (const [key] of expired.slice(0, limit)) this.end(key, 'expired', 0, now);
  }
}
