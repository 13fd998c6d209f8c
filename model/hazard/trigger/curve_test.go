package trigger_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
)

func TestCurves(t *testing.T) {
	t.Parallel()
	d := decimal.RequireFromString
	pointer := func(text string) *decimal.Decimal { value := d(text); return &value }
	steps := []trigger.Rung{{Threshold: d("6"), Factor: d("0.2")}, {Threshold: d("7"), Factor: d("1")}}
	for name, c := range map[string]struct {
		payout trigger.Payout
		side   trigger.Trigger
		want   string
	}{
		"lump":   {trigger.Payout{Shape: trigger.Lump, Threshold: pointer("150")}, trigger.Trigger{Direction: trigger.AtLeast}, "150:0>1"},
		"step":   {trigger.Payout{Shape: trigger.Step, Steps: steps}, trigger.Trigger{Direction: trigger.AtLeast}, "6:0>0.2 7:0.2>1"},
		"strict": {trigger.Payout{Shape: trigger.Step, Steps: steps}, trigger.Trigger{Direction: trigger.AtLeast, Strict: true}, "6:0>0.2 7:0.2>1"},
		"rings": {
			trigger.Payout{Shape: trigger.Step, Rings: []trigger.Ring{{RadiusShare: d("0.5"), Steps: steps}, {RadiusShare: d("1"), Steps: steps[:1]}}},
			trigger.Trigger{Direction: trigger.AtLeast},
			"0.5| 6:0>0.2 7:0.2>1; 1| 6:0>0.2",
		},
		"linear":  {trigger.Payout{Shape: trigger.Linear, Attach: pointer("120"), Exhaust: pointer("240")}, trigger.Trigger{Direction: trigger.AtLeast}, "120:0>0 240:1>1"},
		"drought": {trigger.Payout{Shape: trigger.Linear, Attach: pointer("10"), Exhaust: pointer("0")}, trigger.Trigger{Direction: trigger.AtMost}, "10:0>0 0:1>1"},
		"tick": {
			trigger.Payout{Shape: trigger.Tick, Attach: pointer("10"), TickSize: pointer("0.5"), TickShare: pointer("0.4")},
			trigger.Trigger{Direction: trigger.AtMost},
			"9.5:0>0.4 9.0:0.4>0.8 8.5:0.8>1",
		},
	} {
		var curves []string
		for _, curve := range c.payout.Curves(c.side) {
			var points []string
			if curve.RadiusShare != nil {
				points = append(points, curve.RadiusShare.String()+"|")
			}
			for _, p := range curve.Points {
				points = append(points, p.Index.String()+":"+p.Before.String()+">"+p.Reached.String())
			}
			curves = append(curves, strings.Join(points, " "))
		}
		require.Equal(t, c.want, strings.Join(curves, "; "), name)
	}
	fine := trigger.Payout{Shape: trigger.Tick, Attach: pointer("0"), TickSize: pointer("1"), TickShare: pointer("0.0001")}
	require.Len(t, fine.Curves(trigger.Trigger{Direction: trigger.AtLeast})[0].Points, trigger.MaxCurvePoints)
}
