// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsVitals extends Resource {
  /**
   * Retrieve web vitals.
   *
   * Percentiles of the latest measurements, by metric and page.
   */
  get(options?: RequestOptions): Promise<api.WebVitalStatistics> {
    return this.transport.call(sdk.getVitals, {}, { answer: 'json', isRepeatable: true }, options);
  }

  /**
   * Report web vitals.
   *
   * Takes a list of measurements, at most 16 KiB. The content type `text/plain`, which `navigator.sendBeacon`
   * sends, is accepted too. Names other than `LCP`, `CLS`, `INP`, `FCP`, `TTFB` and `FID` are dropped.
   */
  report(body?: NonNullable<api.ReportVitalsData['body']>, options?: RequestOptions): Promise<void> {
    return this.transport.call(sdk.reportVitals, { body }, { answer: 'nothing' }, options);
  }
}
